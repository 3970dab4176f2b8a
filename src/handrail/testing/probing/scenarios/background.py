"""Work in the background: it is told of while it runs, and its end is."""

from __future__ import annotations

from handrail.protocol.frames import Result, System
from handrail.protocol.options import Options
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import DOUBT, Live, Replies, Stage, bash, listed_names

__all__ = ["BACKGROUND"]

STARTED = Behaviour(
    name="background: a command that goes on",
    need="degrades",
    otherwise="work that goes on after a run is not shown, so a session is stopped while it still works",
)
ENDED = Behaviour(
    name="background: its end",
    need="degrades",
    otherwise="Claude does not hear that its work has ended until somebody writes",
    copes="runs that nobody's message began are runs like any other",
)
FRAMES = Behaviour(
    name="background: frames about it",
    need="degrades",
    otherwise="the state of work in the background is not known",
    is_list=True,
)

JOB = bash("until [ -e go ]; do sleep 0.05; done; touch finished", run_in_background=True)


async def play(stage: Stage) -> None:
    replies: Replies = {"Start it": [JOB, "It runs.", "It has finished."], "And now?": ["Nothing new."]}
    async with stage.live(replies, options=Options(allowed_tools=["Bash"])) as live:
        await live.run("Start it")
        running = bool(live.client.background_tasks)
        stage.see(STARTED, running, "told while it runs" if running else "not told")
        (stage.cwd / "go").touch()
        await stage.comes_to_have("finished")
        stage.see(ENDED, *await _what_follows(live))
        names = {frame.subtype for frame in live.all(System) if "task" in frame.subtype}
        stage.see(FRAMES, "task_notification" in names, listed_names(names))


async def _what_follows(live: Live) -> tuple[bool, str]:
    try:
        second = await live.nth(2, Result, seconds=DOUBT)
    except TimeoutError:
        # Older CLIs tell it with the first messages that come after they have noticed.
        for _ in range(3):
            await live.run("And now?")
        return False, "nothing happens until the next message"
    origin = f"with origin {second.origin.kind}" if second.origin else "without an origin"
    return True, f"a turn of its own, {origin}"


BACKGROUND = Scenario("background", (STARTED, ENDED, FRAMES), play)
