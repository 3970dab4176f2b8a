"""The Bot API as such: a method and its parameters go in, a result or a refusal comes out."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.testing.telegram.api_errors import ApiError, conflict
from handrail.testing.telegram.faults import Faults
from handrail.testing.telegram.methods import METHODS, Call
from handrail.testing.telegram.pace import Pacer, TelegramPace
from handrail.testing.telegram.requests import Parameters
from handrail.testing.telegram.webhooks import Webhook
from handrail.testing.telegram.world import World

__all__ = ["BotApi", "Result"]

_LIGHT = frozenset({"sendchataction", "sendmessagedraft"})
_PACED = ("send", "editmessage", "copymessage", "forwardmessage")
_LONGEST_POLL = 50
_WEBHOOK_IS_SET = conflict(
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)
_WEBHOOK_CAME = conflict("terminated by setWebhook request")


class Result(NamedTuple):
    """What a call came to; a few are said in words, too."""

    value: Any
    words: str = ""


class BotApi:
    """Calls methods: the few that are about getting updates here, all others on the world."""

    def __init__(self, world: World, faults: Faults, pace: TelegramPace | None) -> None:
        self._world = world
        self._faults = faults
        self._pacer = Pacer(pace)
        self._webhook = Webhook(world.updates, faults, self._call_quietly)

    async def close(self) -> None:
        """Send nothing to a webhook any more."""
        await self._webhook.close()

    async def call(self, method: str, parameters: Parameters) -> Result:
        """Do what a call asks. Raises `ApiError`."""
        failure = self._faults.takes_failure(method)
        if failure is not None:
            raise failure
        match method.lower():
            case "getupdates":
                return Result(await self._get_updates(parameters))
            case "setwebhook":
                self._world.updates.end_poll(_WEBHOOK_CAME)
                self._allow_updates(parameters)
                return Result(True, await self._webhook.set(parameters))
            case "deletewebhook":
                return Result(True, await self._webhook.delete(parameters))
            case "getwebhookinfo":
                return Result(self._webhook.about())
        return Result(self._call_world(method, parameters))

    def _call_world(self, method: str, parameters: Parameters) -> Any:
        found = METHODS.get(method.lower())
        if found is None:
            raise ApiError(404, "Not Found: method not found")
        self._check_pace(method.lower(), parameters)
        return found.run(Call(found.name, parameters, self._world))

    async def _call_quietly(self, method: str, parameters: Parameters) -> None:
        """What a webhook's answer asks for; nobody is there to be told that it was refused."""
        try:
            await self.call(method, parameters)
        except ApiError:
            return

    def _check_pace(self, method: str, parameters: Parameters) -> None:
        if not method.startswith(_PACED):
            return
        count = _messages_in(parameters) if method == "sendmediagroup" else 1
        wait = self._pacer.retry_after(parameters.number("chat_id"), light=method in _LIGHT, count=count)
        if wait:
            raise ApiError(429, f"Too Many Requests: retry after {wait}", {"retry_after": wait})

    async def _get_updates(self, parameters: Parameters) -> list[dict[str, Any]]:
        if self._webhook.is_set:
            raise _WEBHOOK_IS_SET
        self._allow_updates(parameters)
        limit = min(max(parameters.number("limit", 100), 1), 100)
        timeout = min(max(parameters.number("timeout"), 0), _LONGEST_POLL)
        return await self._world.updates.poll(parameters.number("offset"), limit, timeout)

    def _allow_updates(self, parameters: Parameters) -> None:
        """What the bot wants to hear of; said once, it holds until something else is said."""
        try:
            kinds = parameters.json("allowed_updates")
        except ValueError:
            return  # the real server does not mind
        if isinstance(kinds, list):
            self._world.updates.allow([str(kind) for kind in kinds])


def _messages_in(parameters: Parameters) -> int:
    try:
        media = parameters.json("media", [])
    except ValueError:
        return 1
    return max(len(media), 1) if isinstance(media, list) else 1
