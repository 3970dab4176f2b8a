"""Secrets do not survive redaction, and nothing else changes."""

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.transports.redact import REDACTED, Redactor, is_secret_name

KEY = "sk-ant-api03-abcdefghijklmnop-123456"


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "apiKey",
        "api-key",
        "X-Api-Key",
        "authToken",
        "Authorization",
        "proxy-authorization",
        "db_password",
        "dbPassword",
        "clientSecret",
        "Cookie",
        "credentials",
        "private_key",
    ],
)
def test_names_that_say_so_are_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "input_tokens",
        "max_thinking_tokens",
        "apiKeySource",
        "tokenSource",
        "progressToken",
        "key",
        "keys",
        "author",
        "command",
        "MAX_TOKENS",
        "tokenizer",
    ],
)
def test_other_names_are_not(name: str) -> None:
    assert not is_secret_name(name)


def test_a_line_without_secrets_comes_back_as_the_same_object() -> None:
    lines = [
        b'{"type":"assistant","message":{"usage":{"input_tokens":10,"output_tokens":5}}}',
        b'{ "type" : "system", "apiKeySource": "ANTHROPIC_API_KEY" , "tools":[]}',
        b'{"type":"stream_event","event":{"delta":{"text":"turn the key in the lock"}}}',
        b"not json at all",
        b"\xff\xfe",
        b"",
    ]
    for line in lines:
        assert Redactor().line(line) is line


def test_values_are_hidden_by_their_name_at_any_depth() -> None:
    line = msgspec.json.encode(
        {
            "request": {
                "subtype": "mcp_set_servers",
                "servers": {
                    "x": {"env": {"GITHUB_TOKEN": "abc", "PATH": "/bin"}, "headers": {"Authorization": "Basic eA=="}}
                },
            },
            "attempts": [{"password": "hunter2"}, {"password": ""}, {"token": 7}],
        }
    )
    clean = json.loads(Redactor().line(line))
    server = clean["request"]["servers"]["x"]
    assert server == {"env": {"GITHUB_TOKEN": REDACTED, "PATH": "/bin"}, "headers": {"Authorization": REDACTED}}
    # An empty value shows that none was set; numbers protect nothing.
    assert clean["attempts"] == [{"password": REDACTED}, {"password": ""}, {"token": 7}]


def test_every_environment_variable_that_is_set_is_hidden() -> None:
    line = b'{"type":"update_environment_variables","variables":{"A":"1","DATABASE_URL":"x"},"request_id":"r"}'
    assert json.loads(Redactor().line(line)) == {
        "type": "update_environment_variables",
        "variables": {"A": REDACTED, "DATABASE_URL": REDACTED},
        "request_id": "r",
    }


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"my key is {KEY}.", f"my key is {REDACTED}."),
        ("export ANTHROPIC_API_KEY=abc; ls", f"export ANTHROPIC_API_KEY={REDACTED}; ls"),
        ("FOO_TOKEN='a b' BAR=1", f"FOO_TOKEN={REDACTED} BAR=1"),
        ("curl -H 'Authorization: Bearer abcdefghijklmnop'", f"curl -H 'Authorization: {REDACTED}'"),
        ("Bearer abcdefghijklmnop", f"Bearer {REDACTED}"),
        ("x-api-key: abc", f"x-api-key: {REDACTED}"),
        ("run --api-key abc --max-tokens 5", f"run --api-key {REDACTED} --max-tokens 5"),
        ("run --auth-token=abc", f"run --auth-token={REDACTED}"),
        ('{"env": {"API_KEY": "abc", "HOME": "/"}}', f'{{"env": {{"API_KEY": "{REDACTED}", "HOME": "/"}}}}'),
        ("postgres://user:pass@host/db", f"postgres://{REDACTED}@host/db"),
        ("bot 123456789:AAabcdefghijklmnopqrstuvwxyz0123456", f"bot {REDACTED}"),
        ("ghp_abcdefghijklmnopqrstuvwxyz", REDACTED),
        ("the token = next(tokens)", "the token = next(tokens)"),
        ("a task-runner and a risk-assessment-of-things", "a task-runner and a risk-assessment-of-things"),
        ("https://example.com/a@b", "https://example.com/a@b"),
        ("bearer of news", "bearer of news"),
        ("password: string;", "password: string;"),
    ],
)
def test_texts(text: str, clean: str) -> None:
    assert Redactor().text(text) == clean
    line = msgspec.json.encode({"type": "user", "message": {"content": [{"type": "text", "text": text}]}})
    assert json.loads(Redactor().line(line))["message"]["content"][0]["text"] == clean


def test_a_long_text_is_not_looked_at_where_nothing_suggests_a_secret() -> None:
    filler = "x" * 1_000_000
    began = time.process_time()
    assert Redactor().text(f"{filler} A_TOKEN=abc {filler}\n{filler}") == (
        f"{filler} A_TOKEN={REDACTED} {filler}\n{filler}"
    )
    # The patterns alone would take most of a second.
    assert time.process_time() - began < 0.3


def test_a_line_that_is_not_json_is_redacted_as_text() -> None:
    assert Redactor().line(f"garbage {KEY} \udcff".encode("utf-8", "surrogateescape")) == (
        f"garbage {REDACTED} ".encode() + b"\xff"
    )


def test_nesting_beyond_measure_is_redacted_as_text() -> None:
    line = b'{"password":"x","a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert Redactor().line(line) == line.replace(b'"x"', f'"{REDACTED}"'.encode())


def test_known_secrets_are_hidden_wherever_they_occur() -> None:
    redactor = Redactor(["swordfish", "sword", "", 'quo"te'])
    line = msgspec.json.encode({"text": 'say swordfish and quo"te', "list": ["sword"]})
    assert json.loads(redactor.line(line)) == {"text": f"say {REDACTED} and {REDACTED}", "list": [REDACTED]}


def test_escapes_hide_nothing() -> None:
    def escaped(text: str) -> str:
        return "".join(f"\\u{ord(character):04x}" for character in text)

    line = f'{{"{escaped("token")}":"a","b":"{escaped(KEY)}","c":"{escaped("Schlüssel")}"}}'.encode()
    assert json.loads(Redactor(["Schlüssel"]).line(line)) == {"token": REDACTED, "b": REDACTED, "c": REDACTED}
    assert json.loads(Redactor().line(line)) == {"token": REDACTED, "b": REDACTED, "c": "Schlüssel"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "filler", ["x", "-", "a-", "--", '"', "'a", "=", "a=", "://", "a:", "sk-", "bearer ", "1", "\\", ": ", "A_"]
)
def test_time_is_linear_in_the_length(filler: str) -> None:
    """Text comes from tools: none of it may stall the loop."""

    def seconds(size: int) -> float:
        # A clue every now and then, so that every part of the text is looked at.
        text = ("token secret " + filler * (2000 // len(filler))) * (size // 2000)
        started = time.process_time()
        Redactor().text(text)
        return time.process_time() - started

    # Quadratic behaviour would make the ratio 64 or more; the rest is room for a noisy machine.
    small = max(min(seconds(20_000) for _ in range(3)), 1e-3)
    assert min(seconds(160_000) for _ in range(3)) < small * 30


names = st.sampled_from(["token", "API_KEY", "password", "input_tokens", "text", "cookie", "variables", "type"])
texts = st.one_of(
    st.sampled_from(
        [
            KEY,
            "FOO_TOKEN=abc",
            "Bearer abcdefghijklmnop",
            "update_environment_variables",
            "http://u:p@h",
            '{"secret": "x"}',
            "ghp_abcdefghijklmnopqrstuvwxyz",
            "123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
            "--password x",
            "Cookie: x",
        ]
    ),
    st.text(max_size=20),
)
values = st.recursive(
    st.one_of(texts, st.none(), st.booleans(), st.integers(-(2**53), 2**53)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(names, texts), inner, max_size=4)),
    max_leaves=12,
)


@pytest.mark.slow
@given(values)
def test_looking_for_hints_first_misses_nothing(value: object) -> None:
    redactor = Redactor()
    for line in (msgspec.json.encode(value), json.dumps(value).encode()):
        assert msgspec.json.decode(redactor.line(line)) == redactor.value(value)


@given(values)
def test_redacting_twice_changes_nothing_more(value: object) -> None:
    redactor = Redactor()
    once = redactor.line(msgspec.json.encode(value))
    assert redactor.line(once) == once


@given(values, st.text("abcdef0123456789", min_size=8, max_size=20))
def test_a_known_secret_is_gone_from_every_value(value: object, secret: str) -> None:
    line = msgspec.json.encode({"a": value, "b": [f"x{secret}y", {"c": secret}]})
    clean = Redactor([secret]).line(line)
    assert secret.encode() not in clean


@given(st.binary(max_size=200))
def test_any_bytes_are_accepted(line: bytes) -> None:
    Redactor(["secret"]).line(line)
