"""The table of commands: what people can write to the bot, who may, and what each way to write it does.

/help, the menu of Telegram and the reference are made from it.
"""

from __future__ import annotations

from typing import Final

from handrail.telegram.commands import (
    budget,
    choosing,
    figures,
    files,
    helping,
    preferences,
    project,
    queue,
    running,
    status,
)
from handrail.telegram.commands.command import Command
from handrail.telegram.commands.context import CommandContext

__all__ = ["TABLE"]


async def _start(context: CommandContext, _: str) -> None:
    await context.say(helping.greeting(context))


async def _help(context: CommandContext, rest: str) -> None:
    await context.say(helping.help_on(rest, TABLE) if rest else helping.overview(context, TABLE))


TABLE: Final[tuple[Command, ...]] = (
    Command(
        name="new",
        words="start a new session",
        role="owner",
        run=running.new,
        forms=(
            ("/new", "the next message starts a session"),
            ("/new TEXT", "start one with these words"),
            ("/new @branch TEXT", "start one in the git worktree of a branch"),
        ),
        more="The session before goes on by itself: /sessions finds it again.",
    ),
    Command(
        name="continue",
        words="go on with the last session of the project",
        role="approver",
        run=running.continue_session,
        forms=(
            ("/continue", "the last session of the project, also one of a terminal"),
            ("/continue TEXT", "the same, with these words"),
            ("/continue ID TEXT", "the session with this id; a `claude --resume` line will do, too"),
            ("/continue @branch", "the last session of a branch's worktree"),
        ),
    ),
    Command(
        name="sessions",
        words="choose a session to go on with",
        role="viewer",
        run=choosing.sessions,
        pressed=choosing.sessions_pressed,
        forms=(
            ("/sessions", "those of the project"),
            ("/sessions all", "those of all projects"),
            ("/sessions terminal", "those that Claude Code keeps of terminals on the hub's machine"),
            ("/sessions WORDS", "those with these words in their title or directory"),
        ),
        more="Choosing one needs the role approver, taking over one of a terminal the role owner.",
    ),
    Command(
        name="status",
        words="what this chat is about",
        role="viewer",
        run=status.status,
        forms=(("/status", "session, project and settings of the chat"), ("/status ID", "another session")),
    ),
    Command(
        name="stop",
        words="end a session's Claude Code",
        role="owner",
        run=running.stop,
        pressed=running.stop_pressed,
        forms=(
            ("/stop", "that of the chat's session, or of the message replied to"),
            ("/stop ID", "that of another session"),
            ("/stop all", "all that run, after a further look"),
        ),
        more="A message starts it again, with the whole conversation.",
    ),
    Command(
        name="interrupt",
        words="stop what Claude does now",
        role="approver",
        run=running.interrupt,
        forms=(
            ("/interrupt", "in the chat's session, or that of the message replied to"),
            ("/interrupt ID", "in another"),
        ),
    ),
    Command(
        name="cancel",
        words="take back what waits, and interrupt",
        role="approver",
        run=running.cancel,
        forms=(("/cancel", "messages of /queue are taken back, and what Claude does now is interrupted"),),
    ),
    Command(
        name="queue",
        words="messages that are sent while Claude works",
        role="approver",
        run=queue.queue,
        pressed=queue.queue_pressed,
        forms=(
            ("/queue", "see what waits, send it now or take it back"),
            ("/queue steer", "messages go to Claude at once, from now on"),
            ("/queue after", "messages wait until Claude is done, from now on"),
            ("/queue TEXT", "have this message wait"),
        ),
    ),
    Command(
        name="project",
        words="choose the directory to work in",
        role="owner",
        run=project.project,
        pressed=project.project_pressed,
        forms=(
            ("/project", "choose one"),
            ("/project NAME", "one that the configuration names"),
            ("/project /PATH", "a directory of the hub's machine"),
            ("/project HOST:", "choose one of another machine of the hub"),
            ("/project HOST:/PATH", "a directory there"),
            ("/project @branch", "the git worktree of a branch: it is made with the next message"),
            ("/project @-", "the project itself again"),
            ("/project off", "no project of its own"),
        ),
        more="It holds for this chat, or for this topic. A topic without one has that of its group.",
    ),
    Command(
        name="model",
        words="choose the model",
        role="owner",
        run=preferences.model,
        pressed=preferences.model_pressed,
        forms=(
            ("/model", "choose one"),
            ("/model NAME", "such as opus or sonnet"),
            ("/model default", "the usual one"),
        ),
        more="A session that runs is switched at once.",
    ),
    Command(
        name="mode",
        words="choose the permission mode",
        role="owner",
        run=preferences.mode,
        pressed=preferences.mode_pressed,
        forms=(("/mode", "choose one"), ("/mode NAME", "one of Claude Code's: default, acceptEdits, plan, auto …")),
        more="A session that runs is switched at once. After a plan of /planmode, this mode holds.",
    ),
    Command(
        name="planmode",
        words="whether Claude plans first",
        role="owner",
        run=preferences.planmode,
        pressed=preferences.planmode_pressed,
        forms=(
            ("/planmode on", "plan first, and ask before it is carried out"),
            ("/planmode off", "no plan first"),
            ("/planmode auto", "plan first, then go on by itself: not the mode auto that Claude Code has"),
        ),
        more="It holds for every message. A plan that is carried out unasked is recorded with your name.",
    ),
    Command(
        name="policy",
        words="choose what is allowed unasked",
        role="owner",
        run=preferences.policy,
        pressed=preferences.policy_pressed,
        forms=(("/policy", "choose a profile"), ("/policy NAME", "such as careful, edits or readonly")),
        more="It holds from a session's next start on.",
    ),
    Command(
        name="budget",
        words="what a session may cost",
        role="owner",
        run=budget.budget,
        pressed=budget.budget_pressed,
        forms=(("/budget", "what it has cost"), ("/budget 5", "pause and ask at $5"), ("/budget off", "no budget")),
        more="It holds from a session's next start on.",
    ),
    Command(
        name="watch",
        words="see other sessions here, too",
        role="viewer",
        run=choosing.watch,
        pressed=choosing.watch_pressed,
        forms=(
            ("/watch", "choose sessions"),
            ("/watch ID", "everything of a session"),
            ("/watch ID asks", "only what it asks"),
            ("/watch off", "none any more"),
            ("/watch off ID", "this one no more"),
        ),
    ),
    Command(
        name="inbox",
        words="asks of all sessions of the hub",
        role="approver",
        run=preferences.inbox,
        pressed=preferences.inbox_pressed,
        forms=(("/inbox on", "what any session asks comes here"), ("/inbox off", "only what this chat's sessions ask")),
    ),
    Command(
        name="verbose",
        words="how much of the work is shown",
        role="approver",
        run=preferences.verbose,
        pressed=preferences.verbose_pressed,
        forms=(("/verbose on", "all steps, and a summary stays"), ("/verbose off", "the last steps, while it works")),
    ),
    Command(
        name="file",
        words="get files of the project, and put some there",
        role="owner",
        run=files.file,
        forms=(
            ("/file get", "list the files of the project"),
            ("/file get PATH", "have a file sent here, or list those of a directory: PATH/"),
            ("/file put PATH", "as the words under a document, or as a reply to one: keep it there"),
            ("/file put PATH --replace", "also if there is one"),
        ),
    ),
    Command(
        name="usage",
        words="tokens and costs",
        role="viewer",
        run=figures.usage,
        pressed=figures.usage_pressed,
        forms=(("/usage", "of today"), ("/usage week", "of the last 7 days"), ("/usage month", "of the last 30 days")),
    ),
    Command(
        name="export",
        words="a session as a file",
        role="viewer",
        run=figures.export,
        pressed=figures.export_pressed,
        forms=(
            ("/export", "choose the kind of file"),
            ("/export markdown", "also html or jsonl"),
            ("/export markdown ID", "another session"),
        ),
    ),
    Command(
        name="claude",
        words="send a command of Claude Code's own",
        role="approver",
        run=running.claude,
        pressed=running.claude_pressed,
        forms=(("/claude /compact", "any slash command, as it is"),),
        more="Commands that change how Claude Code works need the role owner.",
    ),
    Command(
        name="health",
        words="how the hub and the bridge are",
        role="viewer",
        run=status.health,
        forms=(("/health", "hub, machines, Claude Code, what is to be sent, last trouble"),),
    ),
    Command(
        name="help",
        words="what can be written here",
        role="viewer",
        run=_help,
        forms=(("/help", "all commands"), ("/help NAME", "one of them")),
    ),
    Command(name="start", words="first words", role="viewer", run=_start, forms=(("/start", "how this works"),)),
)
"""In the order in which they are listed."""
