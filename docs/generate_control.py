"""Writes reference/control.md from the table in `handrail.protocol.control`. Run it after changing the table."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, get_origin

import msgspec

from handrail.protocol import control
from handrail.protocol.control import base
from handrail.protocol.control.registry import structs

AnyRequest: TypeAlias = control.Request[Any]

PAGE = Path(__file__).parent / "reference" / "control.md"

INTRODUCTION = """\
# Control requests

<!-- Written by docs/generate_control.py: change handrail/protocol/control/, then run that. -->

Beside the conversation, host and CLI ask things of each other: *control requests*, each with one answer. Every request
is a struct in `handrail.protocol.control`; what `client.request` returns is the struct that belongs to it:

```python
from handrail.protocol.control import GetContextUsage, SetModel

reply = await client.request(SetModel(model="opus"))  # a ModelSet
usage = await client.request(GetContextUsage())  # a ContextUsage
print(reply.model, usage.total_tokens, "of", usage.max_tokens)
```

A request without an answer within its deadline raises `ControlExpired` (`client.request(…, timeout=5)` sets another
deadline); a refusal raises `ControlRefused`. For a subtype that is not here, or fields that are newer than this page,
use `await client.control("subtype", field=…)`: any fields in, a dict out.

Fields marked *required* must be given; all others of a request are left out until you give them, and `None` is sent as
`null`. Answers differ between CLI versions: a field that this CLI does not send has its default. A type such as
`Literal["a", "b"] | str` lists the words known so far.

*Oldest CLI* is the oldest that knew the request, of 2.1.37, 2.1.52, 2.1.62, 2.1.120, 2.1.197 and 2.1.325. A newer
request is refused by an older CLI; 2.1.37 does not answer it at all.
"""

CLI_INTRODUCTION = """\
## What the CLI asks

Handrail answers these for you, from `on_ask`, your hooks and your tools; the structs say what is on the wire.
"""

HOOKS_INTRODUCTION = """\
## Hook events

The `input` of a `hook_callback`, by event (`HOOK_EVENTS`). Newer CLIs have more events: their input stays a dict.
All have the fields of `HookInput`:
"""

OUTPUTS_INTRODUCTION = """\
## Hook answers

What goes into `HookOutput.hook_specific_output`, by event.
"""

STRUCTS_INTRODUCTION = """\
## Structs inside these

A `PermissionUpdate` is an `AddRules`, `ReplaceRules`, `RemoveRules`, `SetMode`, `AddDirectories` or
`RemoveDirectories`, or `Unknown` with the JSON of one that is newer than this page.
"""


def page() -> str:
    return "\n".join(
        [
            INTRODUCTION,
            "## What the host can ask\n",
            *overview(control.HOST_REQUESTS.values()),
            *details(control.HOST_REQUESTS.values()),
            CLI_INTRODUCTION,
            *overview(control.CLI_REQUESTS.values()),
            *details(cls for cls in control.CLI_REQUESTS.values() if cls.sender == "cli"),
            HOOKS_INTRODUCTION,
            *field_table(control.HookInput),
            *hook_inputs(),
            OUTPUTS_INTRODUCTION,
            *(line for output in hook_outputs() for line in struct_section(output)),
            STRUCTS_INTRODUCTION,
            *(line for struct in inner_structs() for line in struct_section(struct)),
            "## Words\n",
            *words(),
        ]
    )


def overview(requests: Iterable[type[AnyRequest]]) -> Iterator[str]:
    yield "| subtype | direction | request | answer | deadline | oldest CLI |"
    yield "|---|---|---|---|---|---|"
    for cls in requests:
        subtype = f"[`{tag(cls)}`](#{tag(cls)})"
        answers = " or ".join(f"`{reply.__name__}`" for reply in replies(cls))
        yield row(subtype, direction(cls), f"`{cls.__name__}`", answers, deadline(cls), oldest(cls))
    yield ""


def details(requests: Iterable[type[AnyRequest]]) -> Iterator[str]:
    for cls in requests:
        yield f"### `{tag(cls)}`\n"
        yield from struct_text(cls)
        for reply in replies(cls):
            if reply is not control.Acknowledged:
                yield from struct_text(reply)


def hook_inputs() -> Iterator[str]:
    common = {field.name for field in msgspec.structs.fields(control.HookInput)}
    for event, cls in control.HOOK_EVENTS.items():
        yield f"### {event}\n"
        yield f"`{cls.__name__}`\n"
        yield from field_table(cls, leave_out=common)


def hook_outputs() -> list[type[control.Payload]]:
    return [cls for cls in structs(control.Payload) if tag_field(cls) == "hookEventName"]


def inner_structs() -> list[type[control.Payload]]:
    """Every struct that has no place of its own above."""
    requests = [*control.HOST_REQUESTS.values(), *control.CLI_REQUESTS.values()]
    bases = {control.PermissionResult, control.HookInput}
    shown = {*requests, *(reply for cls in requests for reply in replies(cls)), *control.HOOK_EVENTS.values()}
    return [cls for cls in structs(control.Payload) if cls not in {*bases, *shown, *hook_outputs()}]


def words() -> Iterator[str]:
    for name, value in vars(base).items():
        if get_origin(value) is Literal and name != "Sender":
            yield f"- `{name}`: " + ", ".join(f"`{word}`" for word in get_args(value))
    yield ""


def struct_section(cls: type[control.Payload]) -> Iterator[str]:
    yield f"### {cls.__name__}\n"
    if tag_field(cls):
        yield f"On the wire `{tag_field(cls)}` is `{tag(cls)}`.\n"
    yield from own_docstring(cls)
    yield from field_table(cls)


def struct_text(cls: type[control.Payload]) -> Iterator[str]:
    yield f"`{cls.__name__}`" + ("" if fields(cls) else ", without fields") + "\n"
    yield from own_docstring(cls)
    yield from field_table(cls)


def own_docstring(cls: type[control.Payload]) -> Iterator[str]:
    if cls.__doc__:
        yield inspect.cleandoc(cls.__doc__) + "\n"


def field_table(cls: type[control.Payload], leave_out: Iterable[str] = ()) -> Iterator[str]:
    shown = [field for field in fields(cls) if field.name not in leave_out]
    if not shown:
        return
    yield "| field | on the wire | type |"
    yield "|---|---|---|"
    for field in shown:
        required = ", required" if field.required else ""
        yield row(f"`{field.name}`", f"`{field.encode_name}`", f"`{type_of(cls, field)}`{required}")
    yield ""


def fields(cls: type[control.Payload]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(cls)


def type_of(cls: type[control.Payload], field: msgspec.structs.FieldInfo) -> str:
    """The annotation as it is written, without what only says that the field may be left out."""
    written: str = next(
        annotations[field.name]
        for annotations in map(inspect.get_annotations, cls.__mro__)
        if field.name in annotations
    )
    return written.replace(" | UnsetType", "").replace("[ ", "[").replace(" ]", "]")


def replies(cls: type[AnyRequest]) -> list[type[control.Payload]]:
    return cls.reply.__subclasses__() or [cls.reply]


def direction(cls: type[AnyRequest]) -> str:
    return {"host": "host → CLI", "cli": "CLI → host", "either": "either way"}[cls.sender]


def deadline(cls: type[AnyRequest]) -> str:
    return "" if cls.sender == "cli" else f"{cls.timeout:g} s"


def oldest(cls: type[AnyRequest]) -> str:
    return "" if cls.sender == "cli" else cls.since or "none of them"


def tag(cls: type[control.Payload]) -> str:
    return str(cls.__struct_config__.tag)


def tag_field(cls: type[control.Payload]) -> str | None:
    return cls.__struct_config__.tag_field


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
