"""What a probe found, as findings: by topic, what is broken and what changed first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.cli.checkup.finding import Finding, attention, broken, good
from handrail.cli.showing.amounts import count
from handrail.testing.probing.comparing import Compared, Comparison, came_and_went
from handrail.wording import listed

__all__ = ["findings_of", "sentence_of", "worth_knowing"]


def findings_of(comparison: Comparison) -> list[Finding]:
    """Every behaviour is in one of them; those that are as they should be share one for each topic."""
    topics = dict.fromkeys(_topic(item) for item in comparison.items)
    found = [finding for topic in topics for finding in _of_topic(topic, comparison)]
    last = max((index for index, each in enumerate(found) if each.status == "broken"), default=None)
    if last is not None:  # what mends all of them is said once
        found[last] = broken(found[last].area, found[last].text, _way_out(comparison))
    return found


def _of_topic(topic: str, comparison: Comparison) -> Iterator[Finding]:
    items = [item for item in comparison.items if _topic(item) == topic]
    told = _worst_first(items)
    for item in told:
        words = _in_words(item, comparison)
        yield broken(topic, words) if item.is_broken else attention(topic, words)
    quiet = [item for item in items if item not in told]
    if quiet:
        yield good(topic, _in_few_words(quiet, comparison))


def sentence_of(comparison: Comparison) -> str:
    """The whole in a sentence."""
    claude = f"Claude Code {comparison.version}"
    wrong = sum(item.is_broken for item in comparison.items)
    other = sum(item.is_changed and not item.is_broken for item in comparison.items)
    if wrong:
        return f"{claude} does not do what Handrail depends on: {_things(wrong)} broken."
    if other:
        return f"{claude} does what Handrail depends on; {_things(other)} other than expected."
    return f"{claude} does all that Handrail depends on."


def worth_knowing(comparison: Comparison) -> tuple[str, ...]:
    """What is broken, then what changed, each in words."""
    return tuple(f"{_topic(item)}: {_in_words(item, comparison)}" for item in _worst_first(comparison.items))


def _worst_first(items: Sequence[Compared]) -> list[Compared]:
    """What is broken, then what changed."""
    told = [item for item in items if item.is_broken or item.is_changed]
    return sorted(told, key=lambda item: not item.is_broken)


def _topic(item: Compared) -> str:
    return item.name.partition(": ")[0]


def _what(item: Compared) -> str:
    return item.name.partition(": ")[2]


def _in_words(item: Compared, comparison: Comparison) -> str:
    if item.verdict == "unseen":
        said = f"{_what(item)}: could not be seen ({item.words})"
    else:
        said = f"{_what(item)}: {_outcome(item)}{_elsewhere(item, comparison)}"
    return f"{said}. What fails: {item.otherwise}" if item.otherwise else said


def _outcome(item: Compared) -> str:
    return _changes(item) or item.words


def _changes(item: Compared) -> str:
    """Of a list that is mostly as before: what came and what went."""
    if not item.is_list or not set(item.before.split(", ")) & set(item.words.split(", ")):
        return ""
    came, went = came_and_went(item.before, item.words)
    return "; ".join(
        words
        for words in (f"also {', '.join(came)}" if came else "", f"no longer {', '.join(went)}" if went else "")
        if words
    )


def _elsewhere(item: Compared, comparison: Comparison) -> str:
    nearest = comparison.against[-1] if comparison.against else ""
    if item.verdict == "same":
        return ""
    was = "" if _changes(item) or not item.before else f"in {nearest}: {item.before}"
    if item.verdict == "like":
        return f" (as in {item.like}{'; ' + was if was else ''})"
    never = "never seen before" if item.verdict == "new" else ""
    told = "; ".join(words for words in (never, was) if words)
    return f" ({told})" if told else ""


def _in_few_words(items: Sequence[Compared], comparison: Comparison) -> str:
    lacking = [_what(item) for item in items if item.works is False]
    more = [f"{_what(item)}: {_changes(item)}" for item in items if item.verdict == "more"]
    same = len(items) - len(more) - len(lacking)
    as_there = f"as in {listed(comparison.against)}" if comparison.against else "nothing to compare with"
    parts = [f"{count(same, 'behaviour')} {as_there}"] if same else []
    if lacking:
        parts.append(f"known to be missing in this version: {', '.join(lacking)}")
    return "; ".join([*parts, *more])


def _way_out(comparison: Comparison) -> str:
    recorded = [version for version in comparison.against if version != comparison.version]
    if not recorded:
        return "handrail doctor --probe, to see whether it was a slow moment"
    return f"run another version meanwhile: npm install -g @anthropic-ai/claude-code@{recorded[0]}"


def _things(number: int) -> str:
    return "one thing is" if number == 1 else f"{number} things are"
