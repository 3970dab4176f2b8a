"""Somebody in front of the page: a browser of their own, in which whatever goes wrong is noticed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Dialog, Locator, Page, Request, expect

__all__ = ["DESK", "PHONE", "Visitor", "visiting"]

PATIENCE_MS = 45_000
"""How long a test waits for one thing. Generous: it only decides how soon a failure is noticed."""

DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""

OPEN_CARDS = """async () => {
  for (let line; (line = document.querySelector("handrail-inbox .ask-one-line")); ) {
    line.click();
    await new Promise(requestAnimationFrame);
  }
}"""

expect.set_options(timeout=PATIENCE_MS)


class Visitor:
    """A page, and what went wrong in it."""

    def __init__(self, context: BrowserContext, page: Page, url: str) -> None:
        self.context = context
        self.page = page
        self.url = url
        self.troubles: list[str] = []
        self._expected: list[re.Pattern[str]] = []
        context.on("console", self._console)
        context.on("weberror", lambda error: self._trouble(f"error: {error.error.stack}"))
        context.on("dialog", self._dialog)
        context.on("request", self._request)

    async def goto(self, path: str) -> None:
        await self.page.goto(self.url + path)

    async def follow(self, path: str) -> None:
        """Go to a page as a link of ours does, without loading the page anew."""
        await self.page.evaluate("(path) => document.querySelector('handrail-app').context.router.go(path)", path)

    async def open_session(self, session_id: str) -> None:
        """Open a session, and wait until it is shown."""
        await self.goto(f"/s/{session_id}")
        await expect(self.page.locator("handrail-session .session-title")).not_to_be_empty()

    def __call__(self, selector: str, **more: Any) -> Locator:
        return self.page.locator(selector, **more)

    @property
    def card(self) -> Locator:
        """The ask that is pinned below the conversation."""
        return self("handrail-pinned-asks handrail-ask")

    @property
    def closed(self) -> Locator:
        """What became of asks, in the conversation."""
        return self("handrail-thread handrail-ask .ask-closed")

    @property
    def said(self) -> Locator:
        """What Claude said, as far as it is whole."""
        return self("handrail-thread [data-type=text][data-row] > div")

    @property
    def field(self) -> Locator:
        """Where messages are written."""
        return self.page.get_by_label("Message to Claude")

    async def send(self, text: str) -> None:
        await self.field.fill(text)
        await self.field.press("Enter")

    def act(self, name: str) -> Locator:
        """A button of the pinned ask."""
        return self.card.locator(f"[data-act={name}]")

    async def open_cards(self) -> None:
        """Open every card of the inbox."""
        await self.page.evaluate(OPEN_CARDS)
        await expect(self("handrail-inbox .ask-one-line")).to_have_count(0)

    def expects(self, *patterns: str) -> None:
        """Trouble like this is part of what is tested: browsers log every refused request as an error."""
        self._expected += [re.compile(pattern) for pattern in patterns]

    def check(self) -> None:
        """Nothing may have gone wrong."""
        known = [text for text in self.troubles if any(pattern.search(text) for pattern in self._expected)]
        unexpected = dict.fromkeys(text for text in self.troubles if text not in known)
        assert not unexpected, "\n".join(unexpected)

    def _trouble(self, text: str) -> None:
        self.troubles.append(text)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._trouble(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    async def _dialog(self, dialog: Dialog) -> None:
        self._trouble(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and f"{address.scheme}://{address.netloc}" != self.url:
            self._trouble(f"request: {request.url}")


@asynccontextmanager
async def visiting(
    browser: Browser,
    url: str,
    link: str,
    *,
    shows: str = "handrail-app .frame",
    phone: bool = False,
    dark: bool = False,
    sharpness: float = 1,
    failed: Callable[[], Path | None],
) -> AsyncIterator[Visitor]:
    """Open the server at `url` by a link, and wait for what it shows. Afterwards nothing may have gone wrong."""
    context = await browser.new_context(
        viewport=PHONE if phone else DESK,
        has_touch=phone,
        is_mobile=phone,
        device_scale_factor=sharpness,
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    try:
        context.set_default_timeout(PATIENCE_MS)
        await context.add_init_script(TELL_VIOLATIONS)
        visitor = Visitor(context, await context.new_page(), url)
        await visitor.page.goto(link)
        await expect(visitor(shows)).to_be_visible()
        yield visitor
        if (picture := failed()) is not None:
            await visitor.page.screenshot(path=picture)
        visitor.check()
    finally:
        await context.close()
