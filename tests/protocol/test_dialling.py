"""A CLI that connects to a server gets its address, its token and its switch; one that would refuse is told apart."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import InvalidOptions
from handrail.protocol.dialling import (
    REFUSES_SINCE,
    dialling_command_line,
    dialling_environment,
    refusal_in,
    refusal_of_version,
    shell_line,
)
from handrail.protocol.launch import command_line
from handrail.protocol.options import Options, TokenBy

URL = "wss://hub.example.org/v1/session_ingress/ws/3f2a9c01"


def test_the_line_is_that_of_the_control_channel_with_an_address() -> None:
    options = Options(model="opus", resume="-r", transport="websocket")
    line = dialling_command_line(options, ["node", "cli.js"], URL)
    assert line == [*command_line(options, ["node", "cli.js"]), "--print", f"--sdk-url={URL}"]


@pytest.mark.parametrize("url", ["", "hub.example.org", "https://hub.example.org", "ws://", "ws://h /x", "ws://h\n--x"])
def test_another_address_than_a_websocket_is_refused(url: str) -> None:
    with pytest.raises(InvalidOptions, match="begins with ws:// or wss://"):
        dialling_command_line(Options(), ["claude"], url)


def test_the_token_is_a_variable_or_behind_a_descriptor_and_never_both() -> None:
    options = Options(transport="websocket")
    assert dialling_environment(options, token="t") == {"CLAUDE_CODE_SESSION_ACCESS_TOKEN": "t"}
    both = dialling_environment(options, token="t", descriptor=7)
    assert both == {"CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR": "7"}
    assert dialling_environment(options) == {}


def test_hybrid_is_a_switch() -> None:
    options = Options(transport="hybrid")
    assert dialling_environment(options) == {"CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2": "1"}


# ---------------------------------------------------------------- a line to paste


@pytest.mark.slow
@given(token=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1))
def test_a_shell_reads_the_line_with_the_token_as_a_variable(token: str) -> None:
    options = Options(transport="hybrid", allowed_tools=["Bash(git log *)"])
    command = dialling_command_line(options, ["claude"], URL)
    *words, nothing = shlex.split(shell_line(command, dialling_environment(options), token, by="environment"))
    assert words[:2] == ["CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2=1", f"CLAUDE_CODE_SESSION_ACCESS_TOKEN={token}"]
    assert (words[2:], nothing) == (command, "</dev/null")


def test_with_a_descriptor_the_token_is_no_variable() -> None:
    line = shell_line(["claude", "--print"], {}, "a b", by="descriptor")
    assert line == "CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR=9 claude --print </dev/null 9<<<'a b'"


@pytest.mark.parametrize("by", ["descriptor", "environment"])
def test_a_real_shell_gives_the_program_its_arguments_and_its_token(by: TokenBy) -> None:
    shell = shutil.which("bash")
    assert shell is not None
    program = (
        "import os, sys; n = os.environ.get('CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR'); "
        "token = open(f'/dev/fd/{n}').read().strip() if n else os.environ['CLAUDE_CODE_SESSION_ACCESS_TOKEN']; "
        "print([token, sys.argv[1:], sys.stdin.read()])"
    )
    line = shell_line([sys.executable, "-c", program, "a b", "$HOME"], {"X": "1"}, "to'ken", by=by)
    printed = subprocess.run([shell, "-c", line], capture_output=True, text=True, check=True, timeout=60).stdout
    assert printed.strip() == repr(["to'ken", ["a b", "$HOME"], ""])


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("version", [(2, 1, 37), (2, 1, 62), (2, 1, 120), (2, 0, 999)])
def test_a_version_that_connects_is_not_refused(version: tuple[int, int, int]) -> None:
    assert refusal_of_version(version) is None


@pytest.mark.parametrize("version", [REFUSES_SINCE, (2, 1, 325), (2, 2, 0), (3, 0, 0)])
def test_a_version_that_refuses_is_told_what_to_do_instead(version: tuple[int, int, int]) -> None:
    why = refusal_of_version(version)
    assert why is not None
    assert ".".join(map(str, version)) in why
    assert "stdio transport" in why
    assert "`handrail host`" in why


@pytest.mark.parametrize(
    "reason",
    [
        'host "127.0.0.1" is not an approved Anthropic endpoint. This flag is reserved for Remote Control worker '
        "processes connecting to Anthropic's backend.",
        'could not parse "nonsense" as a URL. This flag is reserved for Remote Control worker processes.',
    ],
)
def test_the_words_of_a_cli_that_refuses_are_recognised(reason: str) -> None:
    why = refusal_in(f"a warning before it\nError: --sdk-url rejected: {reason}\n")
    assert why is not None
    assert reason.rstrip(".") in why
    assert "stdio transport" in why


@pytest.mark.parametrize("stderr", ["", "Error: --sdk-url needs a value", "rejected", "TypeError: x is not a function"])
def test_other_last_words_are_not_a_refusal(stderr: str) -> None:
    assert refusal_in(stderr) is None
