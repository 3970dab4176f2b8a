"""Permission rules that stand for what a plan asks leave for: `allowedPrompts`, which the CLI itself does not apply.

A prompt is a description ("run the tests"), a rule names a command. So a rule is only ever proposed, for a person to
confirm: the exact command that the prompt or the plan spells out, never a wider one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from handrail.errors import UnfitAnswer
from handrail.protocol.asks import Ask
from handrail.protocol.control import AddRules, Rule

__all__ = ["AllowedPrompt", "allowed_prompts", "chosen_rules", "proposed_rules", "session_rules"]

EXAMPLE = "Bash(npm test:*)"
RULE_TEXT = re.compile(r"(?P<tool>[A-Za-z_][\w*-]*)(?:\((?P<content>[^\n]+)\))?")
ESCAPED = re.compile(r"\\([\\()])")

CODE_SPAN = re.compile(r"`([^`\n]+)`")
SHELL_BLOCK = re.compile(r"^```(?:bash|sh|shell|console|zsh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PLAIN_COMMAND = re.compile(r"[A-Za-z0-9._/][A-Za-z0-9 ._/@:=+,-]*")
"""No quotes, operators, substitutions, globs or parentheses: what such a rule covers can be read off it."""

RUNNER = re.compile(
    "(?:ant|bazel|bun|bundle|cargo|cmake|composer|deno|docker|dotnet|eslint|flake8|gcc|git|go|gradle|hatch|jest|just|"
    "make|meson|mix|mvn|mypy|ninja|node|nox|npm|npx|phpunit|pip|pnpm|poetry|prettier|pytest|python3?|rake|rspec|ruff|"
    "rustc|swift|terraform|tox|tsc|uv|vite|vitest|yarn)(?: |$)"
)
"""Commands that a prompt may name without marking them as code."""

FILLERS = frozenset({"run", "running", "the", "and", "for", "with", "all", "any", "command", "commands", "execute"})
ENDINGS = ("ations", "ation", "ings", "ing", "ies", "es", "s", "e")
SHORTEST_STEM = 4


class AllowedPrompt(msgspec.Struct, frozen=True):
    """Something that a plan asks leave for, and the rules that could stand for it; there may be none."""

    tool: str
    prompt: str
    rules: tuple[str, ...] = ()


def proposed_rules(ask: Ask) -> tuple[AllowedPrompt, ...]:
    """What the plan of `ask` asks leave for, each with the rules that its prompt or the plan spells out."""
    in_plan = tuple(_commands_in_plan(ask.plan or ""))
    return tuple(_with_rules(tool, prompt, in_plan) for tool, prompt in allowed_prompts(ask))


def allowed_prompts(ask: Ask) -> tuple[tuple[str, str], ...]:
    """The tool and the prompt of each of the ask's `allowedPrompts`."""
    found = ask.input.get("allowedPrompts")
    items = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    return tuple((str(item.get("tool", "")), str(item.get("prompt", ""))) for item in items)


def chosen_rules(ask: Ask, allow_prompts: bool | Sequence[int], rules: Iterable[str]) -> tuple[str, ...]:
    """The rules that an answer gives leave with: its own, and those proposed for the prompts it names.

    Raises `UnfitAnswer` for a prompt that is not there, or for which no rule can be proposed.
    """
    proposals = proposed_rules(ask) if allow_prompts is not False else ()
    positions = range(len(proposals)) if isinstance(allow_prompts, bool) else allow_prompts
    confirmed = [rule for position in positions for rule in _proposal(proposals, position)]
    chosen = tuple(dict.fromkeys([*rules, *confirmed]))
    for text in chosen:
        _parsed(text)
    return chosen


def session_rules(rules: Sequence[str]) -> AddRules:
    """The permission update that allows what `rules` cover, for the rest of the session."""
    return AddRules(rules=[_parsed(text) for text in rules], behavior="allow", destination="session")


def _proposal(proposals: Sequence[AllowedPrompt], position: int) -> tuple[str, ...]:
    if not 0 <= position < len(proposals):
        raise UnfitAnswer(f"there is no allowed prompt {position}: the plan has {len(proposals)}, counted from 0")
    proposal = proposals[position]
    if not proposal.rules:
        raise UnfitAnswer(
            f"no rule can be proposed for {proposal.prompt!r}, because it names no command: "
            f"give one in `rules`, such as {EXAMPLE!r}"
        )
    return proposal.rules


def _parsed(text: str) -> Rule:
    found = RULE_TEXT.fullmatch(text)
    if found is None:
        raise UnfitAnswer(f"{text!r} is no permission rule: write a tool, or a tool with what it may do: {EXAMPLE!r}")
    content = found["content"]
    if content is None:
        return Rule(tool_name=found["tool"])
    if content.startswith("prompt:"):
        raise UnfitAnswer(f"the rule {text!r} would allow nothing: name the command instead, such as {EXAMPLE!r}")
    return Rule(tool_name=found["tool"], rule_content=ESCAPED.sub(r"\1", content))


# ---------------------------------------------------------------- finding commands


def _with_rules(tool: str, prompt: str, in_plan: Sequence[str]) -> AllowedPrompt:
    if tool != "Bash":
        return AllowedPrompt(tool, prompt)
    commands = tuple(_commands_in_prompt(prompt)) or tuple(_about(prompt, in_plan))
    return AllowedPrompt(tool, prompt, tuple(dict.fromkeys(f"Bash({command})" for command in commands)))


def _commands_in_prompt(prompt: str) -> Iterator[str]:
    marked = [text.strip() for text in CODE_SPAN.findall(prompt)]
    bare = prompt.strip().removeprefix("run ").removeprefix("Run ").strip()
    yield from (text for text in marked if PLAIN_COMMAND.fullmatch(text))
    if not marked and PLAIN_COMMAND.fullmatch(bare) and RUNNER.match(bare):
        yield bare


def _commands_in_plan(plan: str) -> Iterator[str]:
    lines = [line for block in SHELL_BLOCK.findall(plan) for line in block.splitlines()]
    for text in (*CODE_SPAN.findall(plan), *lines):
        command = text.strip().removeprefix("$ ")
        if PLAIN_COMMAND.fullmatch(command) and RUNNER.match(command):
            yield command


def _about(prompt: str, commands: Sequence[str]) -> Iterator[str]:
    """Those of the plan's commands that share a word with the prompt: "run the tests" and `npm test`."""
    stems = [_stem(word) for word in re.findall(r"[a-z]+", prompt.lower()) if word not in FILLERS]
    for command in commands:
        if any(len(stem) >= SHORTEST_STEM and stem in command.lower() for stem in stems):
            yield command


def _stem(word: str) -> str:
    ending = next((end for end in ENDINGS if word.endswith(end) and len(word) - len(end) >= SHORTEST_STEM), "")
    return word.removesuffix(ending)
