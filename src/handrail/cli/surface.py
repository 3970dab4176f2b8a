"""Where a session is shown and where its asks are answered: the terminal of this process, or none."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from rich.console import Console

from handrail.cli.asking.asker import Asker
from handrail.cli.asking.desk import Answerer
from handrail.cli.asking.unattended import Automatic, Nobody
from handrail.cli.keyboard.keyboard import Keyboard
from handrail.cli.keyboard.person import keys_of_person
from handrail.cli.keyboard.terminal import Terminal
from handrail.cli.showing.json_lines import JsonView
from handrail.cli.showing.progress import Progress
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.style import FAILED, OutputConsole, make_console
from handrail.cli.showing.summary import Ending
from handrail.cli.showing.transcript import Style, TerminalView
from handrail.config.model import Terminal as TerminalConfig
from handrail.events.model import Completed, Delta, Event
from handrail.sessions.asks import Actor, AnyAnswer

__all__ = ["Surface", "View", "Without", "make_surface"]

Without: TypeAlias = Literal["deny", "leave", "demo", "yes"]
"""What becomes of asks where no person is: denied, left to others, or granted as in the demo. `yes` grants always."""


class View(Protocol):
    """Where a session's events and notices go."""

    screen: Screen
    progress: Progress

    @property
    def said(self) -> str:
        """What Claude said last."""

    @property
    def files(self) -> Collection[str]:
        """The files that were changed, in words."""

    def show(self, item: Event | Delta) -> None:
        """This happened."""

    def notice(self, colour: str, text: str) -> None:
        """Handrail itself has something to say."""

    def hide_prompt(self, uuid: str) -> None:
        """This message need not be shown."""

    def draw(self) -> None:
        """A moment has passed."""

    def run_ended(self, event: Completed) -> None:
        """A run is over, and there may be others."""

    def end(self, ending: Ending, *, resume: Collection[str] = ()) -> None:
        """It is over; `resume` are the commands that go on."""

    def stop(self) -> None:
        """Nothing more will come."""


@dataclass(frozen=True)
class Surface:
    """A view, a person's keys if there is one, and whoever answers. `desk` is the screen where asks are shown."""

    view: View
    desk: Screen
    keyboard: Keyboard | None
    answerer: Answerer | None
    output: OutputConsole
    errors: Console

    @property
    def denied(self) -> int:
        """How many asks were denied because nobody could be asked."""
        return self.answerer.denied if isinstance(self.answerer, Nobody) else 0

    @property
    def actor_for_answers(self) -> Actor | None:
        """In whose name asks are answered, if that is not whoever runs the command: nobody saw them."""
        return self.answerer.actor if isinstance(self.answerer, Nobody | Automatic) else None

    def taken(self, answer: AnyAnswer) -> None:
        """An answer that was given here counts."""
        if isinstance(self.answerer, Nobody):
            self.answerer.taken(answer)

    def fail(self, message: str) -> None:
        """Say what went wrong."""
        self.stop()
        self.errors.print(notice(FAILED, message))

    def draw(self) -> None:
        """Bring everything up to date."""
        self.view.draw()
        if self.desk is not self.view.screen:
            self.desk.draw()

    def stop(self) -> None:
        """Take away what changes."""
        self.view.stop()
        self.desk.stop()


def make_surface(
    *,
    json: bool = False,
    deltas: bool = False,
    verbose: bool = False,
    hints: str = "",
    without: Without = "deny",
    terminal: TerminalConfig | None = None,
) -> Surface:
    """The surface of this process; `without` says what becomes of asks if no person is there."""
    looks = terminal or TerminalConfig()
    output, errors = (make_console(file, colour=looks.colour) for file in (sys.stdout, sys.stderr))
    view: View
    if json:
        view = JsonView(sys.stdout.buffer, errors, deltas=deltas, on_broken_pipe=output.on_broken_pipe)
    else:
        style = Style(verbose=verbose, markdown=looks.markdown, thinking=looks.show_thinking)
        view = TerminalView(output, style, hints=hints)
    desk = _desk(view, errors)
    keys = keys_of_person(desk.console) if desk is not None else None
    keyboard = Keyboard(Terminal(keys), desk) if desk is not None and keys is not None else None
    shown_on = desk if desk is not None and keyboard is not None else view.screen
    return Surface(view, shown_on, keyboard, _answerer(shown_on, keyboard, without), output, errors)


def _desk(view: View, errors: Console) -> Screen | None:
    """Where a person would see asks: where the session is shown, or else where errors go."""
    if view.screen.console.is_terminal:
        return view.screen
    return Screen(errors) if errors.is_terminal else None


def _answerer(screen: Screen, keyboard: Keyboard | None, without: Without) -> Answerer | None:
    if without == "yes":
        return Automatic(screen, "you said --yes")
    if keyboard is not None:
        return Asker(screen, keyboard)
    if without == "demo":
        return Automatic(screen, "there is no terminal to ask you on")
    return Nobody(screen) if without == "deny" else None
