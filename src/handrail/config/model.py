"""Every setting: its type, its default, and what it is for.

What stands here is what may stand in the file: reading, messages, `handrail config` and the reference page follow it.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

__all__ = [
    "Claude",
    "Config",
    "Effort",
    "Host",
    "Hub",
    "Limits",
    "Notify",
    "NotifyOn",
    "Policy",
    "Storage",
    "Telegram",
    "TelegramUser",
    "Terminal",
]

PermissionMode: TypeAlias = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
Profile: TypeAlias = Literal["careful", "edits", "readonly", "trusted"]
SettingSource: TypeAlias = Literal["user", "project", "local"]
TelegramRole: TypeAlias = Literal["viewer", "approver", "owner"]
NotifyOn: TypeAlias = Literal["ask", "finished", "failed", "stalled", "probe"]

LARGEST = 1e9
"""No number of dollars, minutes, days or megabytes is larger: it keeps `inf` out."""

PROBE_HOURS = (
    "Every how many hours it is looked whether Claude Code was updated, to try out what Handrail depends on if it was "
    "(`handrail doctor --probe`). 0: never."
)

IDLE_MINUTES = (
    "After how many minutes in which nothing goes on the Claude Code of a session ends, to free its memory. A message "
    "starts it again, as it was. 0: never."
)

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Above0: TypeAlias = Annotated[float, Meta(gt=0, le=LARGEST)]
AtLeast0: TypeAlias = Annotated[float, Meta(ge=0, le=LARGEST)]
WebAddress: TypeAlias = Annotated[str, Meta(pattern=r"^https?://[^\s/]+\S*$", title="an http or https address")]
FilePath: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00]+$", title="the path of a file")]
HubAddress: TypeAlias = Annotated[
    str, Meta(pattern=r"^(wss|https|ws|http)://[^\s/]+/?$", title="the address of a hub, beginning with wss://")
]
HostName: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$", title="a name of letters, digits, dots and dashes")
]
Label: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$", title="a word of letters, digits, dots and dashes")
]


class Claude(msgspec.Struct, frozen=True, kw_only=True):
    """How Claude Code is started."""

    model: Annotated[Text | None, Meta(description="The model, such as `opus`, `sonnet` or `haiku`.")] = None
    fallback_model: Annotated[Text | None, Meta(description="The model to take where the first one is overloaded.")] = (
        None
    )
    effort: Annotated[Effort | None, Meta(description="How much the model thinks before it answers.")] = None
    permission_mode: Annotated[
        PermissionMode, Meta(description="The mode that sessions start in. `default` asks before anything risky.")
    ] = "default"
    allowed_tools: Annotated[
        tuple[Text, ...],
        Meta(description="What is allowed without asking, such as `Read` or `Bash(git log *)`."),
    ] = ()
    disallowed_tools: Annotated[
        tuple[Text, ...], Meta(description="What Claude may not do, written in the same way.")
    ] = ()
    dangerously_skip_permissions: Annotated[
        bool,
        Meta(description="Run everything without asking, in every session. Every start warns about it."),
    ] = False
    use_api_billing: Annotated[
        bool,
        Meta(
            description="Pass `ANTHROPIC_API_KEY` on to Claude Code, so that the key is billed and not your "
            "subscription. Otherwise the key is taken out of its environment."
        ),
    ] = False
    append_system_prompt: Annotated[
        Text | None, Meta(description="What is added to Claude Code's instructions in every session.")
    ] = None
    max_turns: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="After how many rounds of the model a run ends.")
    ] = None
    setting_sources: Annotated[
        tuple[SettingSource, ...] | None,
        Meta(description="Which settings files Claude Code reads. Unset: its own choice."),
    ] = None
    cli_path: Annotated[
        Text | None,
        Meta(
            description="The `claude` to run: an absolute path, one from `~/`, or a name on `PATH`. Unset: it is found."
        ),
    ] = None
    env: Annotated[
        dict[str, str],
        Meta(description="Variables for Claude Code's environment. Their values are never printed."),
    ] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return _without_secrets(self, "env")


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided without a person."""

    profile: Annotated[
        Profile | None,
        Meta(description="The profile, as `--policy` names it. Unset: that of `policy.toml`, or else `careful`."),
    ] = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is too much."""

    session_budget_usd: Annotated[
        Above0 | None, Meta(description="What a session may cost, in US dollars, before a person is asked.")
    ] = None
    daily_budget_usd: Annotated[
        Above0 | None, Meta(description="What all sessions of a day may cost before a person is asked.")
    ] = None
    concurrent_sessions: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="How many sessions run at the same time; further ones wait for their turn. Unset: any number."
        ),
    ] = None
    restarts: Annotated[
        int, Meta(ge=0, description="How often a session whose CLI died is started again within the window below.")
    ] = 3
    restart_window_minutes: Annotated[Above0, Meta(description="The time in which restarts are counted.")] = 10
    stall_minutes: Annotated[
        AtLeast0,
        Meta(
            description="After how long without a sign of life a run counts as stalled. 0: never. "
            "Waiting for a person does not count."
        ),
    ] = 15
    tool_stall_minutes: Annotated[
        AtLeast0,
        Meta(description="The same while a tool runs. 0: never. Tasks in the background never count as stalled."),
    ] = 60
    on_stall: Annotated[
        Literal["notify", "interrupt", "stop"],
        Meta(description="What happens to a stalled run: only say so, interrupt it, or stop the session."),
    ] = "notify"


class Notify(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody to tell: a command or a webhook. Write `[[notify]]` once for each."""

    on: Annotated[
        tuple[NotifyOn, ...],
        Meta(
            min_length=1,
            description="When: something waits for you, a run ended well, a run failed, a run stalled, or a probe of "
            "Claude Code found something.",
        ),
    ] = ("ask", "finished", "failed")
    command: Annotated[
        tuple[Text, ...] | None,
        Meta(description="The command, word by word. It gets what happened as JSON on its standard input."),
    ] = None
    webhook: Annotated[
        WebAddress | None,
        Meta(description="The address (http or https) that gets the same JSON with a POST request."),
    ] = None

    def __repr__(self) -> str:
        return _without_secrets(self, "command", "webhook")


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """How long things are kept."""

    frames_days: Annotated[
        AtLeast0 | Literal["forever"],
        Meta(description="How many days the raw traffic of sessions is kept. Their events stay."),
    ] = 30
    sessions_days: Annotated[
        AtLeast0 | Literal["forever"], Meta(description="How many days archived sessions are kept.")
    ] = "forever"
    max_size_mb: Annotated[
        Above0 | None,
        Meta(
            description="How large the database may become. Beyond it raw traffic goes first, then archived sessions."
        ),
    ] = None


class Hub(msgspec.Struct, frozen=True, kw_only=True):
    """The server of `handrail serve`: where it listens, and what it shows."""

    host: Annotated[
        Text,
        Meta(description="The address to listen on. Any but that of this machine alone needs TLS or `behind_proxy`."),
    ] = "127.0.0.1"
    port: Annotated[Annotated[int, Meta(ge=0, le=65535)], Meta(description="The port. 0: any that is free.")] = 4280
    public_url: Annotated[
        WebAddress | None,
        Meta(description="The address that people open, where that is another one: of a tunnel or a proxy."),
    ] = None
    behind_proxy: Annotated[
        bool, Meta(description="A proxy in front of it speaks TLS with the world: other addresses may be listened on.")
    ] = False
    proxies: Annotated[
        tuple[Text, ...], Meta(description="The addresses of proxies whose word on the caller is believed.")
    ] = ("127.0.0.1", "::1")
    tls_certificate: Annotated[Text | None, Meta(description="The file of the certificate, to speak TLS itself.")] = (
        None
    )
    tls_key: Annotated[Text | None, Meta(description="The file of its key.")] = None
    allowed_hosts: Annotated[
        tuple[Text, ...], Meta(description="Further names under which it may be called, such as `box.local`.")
    ] = ()
    roots: Annotated[
        tuple[Text, ...],
        Meta(description="The directories in which sessions may be started from the page, with all below them."),
    ] = ("~",)
    private_files: Annotated[
        tuple[Text, ...],
        Meta(
            description="Further names, such as `*.sqlite`, of files that nobody fetches or puts through the hub. "
            "Those that usually hold secrets (`.env`, keys, `.ssh`, `.git` …) are private anyway."
        ),
    ] = ()
    open_browser: Annotated[bool, Meta(description="Open the page when the hub starts, where there is a browser.")] = (
        True
    )
    drain_seconds: Annotated[
        AtLeast0, Meta(description="How long a stop waits for runs to end by themselves before it ends them.")
    ] = 30
    idle_minutes: Annotated[AtLeast0, Meta(description=IDLE_MINUTES)] = 120
    probe_hours: Annotated[AtLeast0, Meta(description=PROBE_HOURS)] = 24


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """This machine as a host: what `handrail host` offers a hub elsewhere, and what it lets it do."""

    hub: Annotated[
        HubAddress | None, Meta(description="The hub that it dials. `ws://` is for a hub on this machine only.")
    ] = None
    name: Annotated[HostName | None, Meta(description="What the hub calls this machine. Unset: its host name.")] = None
    roots: Annotated[
        tuple[Text, ...],
        Meta(description="The directories in which the hub may start sessions, with all below them."),
    ] = ("~",)
    labels: Annotated[
        tuple[Label, ...], Meta(description="Words by which sessions find it, such as `gpu`: `--host label:gpu`.")
    ] = ()
    capacity: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="How many sessions the hub may run here at once. Unset: any number."),
    ] = None
    profiles: Annotated[
        tuple[Profile, ...], Meta(min_length=1, description="The policy profiles that the hub may choose here.")
    ] = ("careful", "edits", "readonly")
    allow_bypass: Annotated[
        bool,
        Meta(description="Let the hub start sessions in which Claude runs everything without asking."),
    ] = False
    file_exchange: Annotated[
        bool,
        Meta(
            description="Let the hub's people fetch files from the roots, and put files there. What Claude leaves in a "
            "session's outbox is sent anyway."
        ),
    ] = False
    private_files: Annotated[
        tuple[Text, ...],
        Meta(description="Further names of files that stay out of that, as of `hub.private_files`."),
    ] = ()
    drain_seconds: Annotated[
        AtLeast0, Meta(description="How long a stop waits for runs to end by themselves before it ends them.")
    ] = 30
    idle_minutes: Annotated[AtLeast0, Meta(description=IDLE_MINUTES)] = 120
    probe_hours: Annotated[AtLeast0, Meta(description=PROBE_HOURS)] = 24


class TelegramUser(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Somebody who may use the bot."""

    id: Annotated[int, Meta(ge=1, le=2**53)]
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    role: TelegramRole = "owner"

    def __post_init__(self) -> None:
        # As the hub takes names: joiners belong to some scripts and emoji, other hidden characters would deceive.
        if self.name != self.name.strip() or not self.name.translate({0x200C: None, 0x200D: None}).isprintable():
            raise ValueError("a name has no spaces around it and no hidden characters")


class Telegram(msgspec.Struct, frozen=True, kw_only=True):
    """The bot through which people use the hub. `handrail telegram setup` writes this."""

    enabled: Annotated[bool, Meta(description="Whether `handrail serve` runs the bot, once it is set up.")] = True
    users: Annotated[
        tuple[
            Annotated[
                TelegramUser,
                Meta(title="a table of id (a number), name, and role (viewer, approver or owner)"),
            ],
            ...,
        ],
        Meta(description="Who may use it, by their number at Telegram. Nobody else gets an answer."),
    ] = ()
    groups: Annotated[
        tuple[Annotated[int, Meta(le=-1, title="the number of a group, which is below zero")], ...],
        Meta(description="The groups in which they may use it. What it writes there, everybody there can read."),
    ] = ()
    cwd: Annotated[Text | None, Meta(description="The directory of chats that have chosen none.")] = None
    projects: Annotated[
        dict[str, Text], Meta(description="Names of directories, for `/project`: `/path`, or `host:/path` elsewhere.")
    ] = {}
    sound: Annotated[bool, Meta(description="Let phones make themselves heard for what needs a person.")] = True
    token_file: Annotated[
        FilePath | None,
        Meta(
            description="The file with the bot's token. Unset: `telegram-token`, beside this file. "
            "`HANDRAIL_TELEGRAM_TOKEN` in the environment counts more."
        ),
    ] = None
    api_url: Annotated[WebAddress, Meta(description="The Bot API server, where that is one of your own.")] = (
        "https://api.telegram.org"
    )
    webhook_url: Annotated[
        WebAddress | None,
        Meta(description="Where Telegram can reach the bot. Unset: the bot asks Telegram, which needs no open port."),
    ] = None
    webhook_listen: Annotated[
        Text | None, Meta(description="The address to listen on for that, such as `127.0.0.1:8443`.")
    ] = None


class Terminal(msgspec.Struct, frozen=True, kw_only=True):
    """How things look in the terminal."""

    colour: Annotated[
        Literal["auto", "always", "never"],
        Meta(description="Colours. `auto`: on a terminal, unless `NO_COLOR` is set."),
    ] = "auto"
    markdown: Annotated[bool, Meta(description="Show what Claude writes as formatted text, not as it is written.")] = (
        True
    )
    show_thinking: Annotated[bool, Meta(description="Show what the model thinks.")] = False
    verbose: Annotated[bool, Meta(description="Show tool output whole, and every kind of event.")] = False


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All settings."""

    claude: Claude = Claude()
    policy: Policy = Policy()
    limits: Limits = Limits()
    storage: Storage = Storage()
    hub: Hub = Hub()
    host: Host = Host()
    telegram: Telegram = Telegram()
    terminal: Terminal = Terminal()
    notify: tuple[Notify, ...] = ()


def _without_secrets(settings: msgspec.Struct, *secretive: str) -> str:
    """Settings end up in logs: what may carry secrets stays out."""
    names = settings.__struct_fields__
    shown = (
        f"{name}={'…' if name in secretive and getattr(settings, name) else repr(getattr(settings, name))}"
        for name in names
    )
    return f"{type(settings).__name__}({', '.join(shown)})"
