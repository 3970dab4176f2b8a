"""Subagents and work in the background: one start and one end each, however much the CLI tells."""

from __future__ import annotations

from typing import Any

from handrail.events.model import Task
from handrail.events.translate import Translator
from handrail.protocol.frames import Frame

from .support import assistant, events, init, of, system, tool_result, tool_use, user


def tasks(*frames: Frame) -> list[Task]:
    return of(Task, events(init(), *frames))


def phases(told: list[Task]) -> list[tuple[str, str, bool | None]]:
    return [(task.phase, task.status, task.ok) for task in told]


def started(task_id: str = "x", **fields: Any) -> Frame:
    return system("task_started", task_id=task_id, description="look around", task_type="local_agent", **fields)


def test_a_task_from_start_to_end() -> None:
    told = tasks(
        started(tool_use_id="a1", is_backgrounded=True, subagent_type="explorer", prompt="look", spawn_depth=1),
        system(
            "task_progress", task_id="x", description="Running ls", last_tool_name="Bash", usage={"total_tokens": 9}
        ),
        system("task_updated", task_id="x", patch={"status": "completed", "end_time": 1}),
        system("task_notification", task_id="x", status="completed", summary="found it", output_file="/tmp/o"),
    )
    assert phases(told) == [
        ("started", "running", None),
        ("updated", "running", None),
        ("updated", "completed", None),
        ("completed", "completed", True),
    ]
    first, progress, _, last = told
    assert (first.title, first.kind, first.background, first.tool_use_id) == ("look around", "local_agent", True, "a1")
    assert first.detail == {"subagent_type": "explorer", "prompt": "look", "spawn_depth": 1}
    assert (progress.title, progress.summary) == ("look around", "Running ls")
    assert progress.detail["usage"] == {"total_tokens": 9}
    assert (last.title, last.summary, last.detail) == ("look around", "found it", {"output_file": "/tmp/o"})


def test_a_task_that_failed_or_was_stopped() -> None:
    for status in ("failed", "stopped"):
        told = tasks(started(), system("task_notification", task_id="x", status=status))
        assert phases(told)[1] == ("completed", status, False)


def test_old_clis_do_not_tell_the_end_of_a_subagent_but_its_call_has_a_result() -> None:
    call = assistant(tool_use("a1", "Task", description="look around"))
    told = tasks(call, started(tool_use_id="a1"), user(tool_result("a1")))
    assert phases(told) == [("started", "running", None), ("completed", "completed", True)]
    told = tasks(call, started(tool_use_id="a1"), user(tool_result("a1", is_error=True)))
    assert phases(told)[1] == ("completed", "failed", False)


def test_old_clis_say_in_the_result_that_a_task_goes_on() -> None:
    call = assistant(tool_use("a1", "Bash", command="make"))
    result = user(tool_result("a1"), tool_use_result={"backgroundTaskId": "x"})
    told = tasks(call, started(tool_use_id="a1"), result)
    assert [(task.phase, task.background) for task in told] == [("started", None), ("updated", True)]


def test_old_clis_say_in_a_result_that_a_task_was_stopped() -> None:
    stopped = user(tool_result("k1"), tool_use_result={"task_id": "x", "message": "Successfully stopped task: x"})
    assert phases(tasks(started(), stopped))[1] == ("completed", "stopped", False)


def test_the_list_of_what_runs_in_the_background() -> None:
    item = {"task_id": "x", "task_type": "local_bash", "description": "build"}
    told = tasks(
        system("background_tasks_changed", tasks=[item]),
        system("task_started", task_id="x", description="build", tool_use_id="a1", is_backgrounded=True),
        system("background_tasks_changed", tasks=[item]),
        system("background_tasks_changed", tasks=[]),
    )
    assert [(task.phase, task.background, task.title) for task in told] == [
        ("started", True, "build"),
        ("updated", True, "build"),
        ("completed", True, "build"),
    ]


def test_a_subagents_subagent_is_inside_it() -> None:
    told = tasks(
        assistant(tool_use("a1", "Agent", description="outer")),
        started("x", tool_use_id="a1"),
        assistant(tool_use("b1", "Agent", description="inner"), id="m2", parent="a1"),
        started("y", tool_use_id="b1"),
        started("z", parent_task_id="y"),
    )
    assert [(task.id, task.parent) for task in told] == [("x", None), ("y", "x"), ("z", "y")]


def test_what_is_told_of_a_task_after_its_end_does_not_begin_it_again() -> None:
    translator = Translator()
    ended = system("task_notification", task_id="x", status="stopped")
    late = system("task_updated", task_id="x", patch={"status": "killed", "error": "by hand"})
    told = of(Task, events(init(), started(), ended, late, translator=translator))
    assert phases(told)[2] == ("updated", "killed", None)
    assert told[2].summary == "by hand"
    assert not of(Task, translator.exited(exit_code=0, reason=""))
