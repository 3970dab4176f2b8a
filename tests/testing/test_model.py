"""The scripted model, asked over real HTTP by an independent client (the standard library's)."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import string
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.testing.model import Conversation, ScriptedModel, ThreadedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import RawBlock, Reply, Text, Thinking, ToolUse
from handrail.testing.script_file import ScriptFileError, load_script

TOOLS = [{"name": "Bash", "input_schema": {}}]


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        events = []
        for chunk in self.body.decode().split("\n\n")[:-1]:
            name, data = chunk.split("\n")
            event = json.loads(data.removeprefix("data: "))
            assert name == f"event: {event['type']}"
            events.append(event)
        return events

    @property
    def text(self) -> str:
        """What the answer says, streamed or not."""
        if not self.headers["content-type"].startswith("text/event-stream"):
            return "".join(block.get("text", "") for block in self.json["content"])
        deltas = (event["delta"] for event in self.events if event["type"] == "content_block_delta")
        return "".join(delta.get("text", "") for delta in deltas)


class Client:
    """One keep-alive connection to a model."""

    def __init__(self, model: ScriptedModel | ThreadedModel) -> None:
        self._connection = http.client.HTTPConnection(model.url.removeprefix("http://"), timeout=20)

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def ask(
        self, prompt: str, *, stream: bool = True, tools: Any = TOOLS, path: str = "/v1/messages", **more: Any
    ) -> Answer:
        body = {
            "model": "m",
            "stream": stream,
            "tools": tools,
            "messages": [{"role": "user", "content": prompt}],
        }
        return self.request("POST", path, json.dumps(body | more).encode())

    def close(self) -> None:
        self._connection.close()


@contextmanager
def connected(model: ScriptedModel | ThreadedModel) -> Iterator[Client]:
    client = Client(model)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def serving(*script: Any, **options: Any) -> Iterator[tuple[ThreadedModel, Client]]:
    """A running model and a client of it."""
    with ScriptedModel(script, **options).in_thread() as model, connected(model) as client:
        yield model, client


def ask_all(*prompts: str, script: Any, **options: Any) -> list[Answer]:
    """Play a script to one client that asks these prompts in order."""
    with serving(*script, **options) as (_, client):
        return [client.ask(prompt) for prompt in prompts]


# Content


def test_a_string_is_a_text_reply_streamed_as_the_real_api_does():
    (answer,) = ask_all("hi", script=[Reply("Hello, world", deltas=2)])
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert [event["type"] for event in answer.events] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert answer.text == "Hello, world"
    assert answer.events[0]["message"]["role"] == "assistant"
    assert answer.events[0]["message"]["model"] == "m"
    assert answer.events[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}


def test_blocks_of_every_kind_stream_in_order():
    server_tool = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "x"},
    }
    (answer,) = ask_all(
        "hi",
        script=[
            Reply(
                Thinking("Let me see", signature="signed"),
                RawBlock(server_tool),
                Text("Running"),
                ToolUse("Bash", {"command": "ls"}),
                ToolUse("Read", {"file_path": "/a"}, id="toolu_mine"),
            )
        ],
    )
    assert streamed_content(answer) == [
        {"type": "thinking", "thinking": "Let me see", "signature": "signed"},
        server_tool,
        {"type": "text", "text": "Running"},
        {
            "type": "tool_use",
            "id": streamed_content(answer)[3]["id"],
            "name": "Bash",
            "input": {"command": "ls"},
        },
        {"type": "tool_use", "id": "toolu_mine", "name": "Read", "input": {"file_path": "/a"}},
    ]
    assert answer.events[-2]["delta"]["stop_reason"] == "tool_use"


def streamed_content(answer: Answer) -> list[dict[str, Any]]:
    """Put the blocks together again, the way a client does."""
    blocks: list[dict[str, Any]] = []
    written: dict[int, str] = {}
    for event in answer.events:
        match event:
            case {"type": "content_block_start", "index": index, "content_block": block}:
                assert index == len(blocks)
                blocks.append(block)
            case {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta"} as delta,
            }:
                written[index] = written.get(index, "") + delta["partial_json"]
            case {"type": "content_block_delta", "index": index, "delta": delta}:
                key = delta["type"].removesuffix("_delta")
                blocks[index][key] += delta[key]
    for index, text in written.items():
        blocks[index]["input"] = json.loads(text)
    return blocks


@pytest.mark.slow
@given(text=st.text(), deltas=st.integers(1, 50))
def test_however_a_text_is_cut_it_arrives_whole_and_without_empty_pieces(text: str, deltas: int):
    from handrail.testing._messages_api import EncodedReply

    reply = Reply(Text(text), ToolUse("T", {"text": text}), deltas=deltas)
    stream = b"".join(event.data for event in EncodedReply(reply, "m").events())
    answer = Answer(200, {"content-type": "text/event-stream"}, stream)
    content = streamed_content(answer)
    assert content[0]["text"] == text
    assert content[1]["input"] == {"text": text}
    pieces = [event["delta"] for event in answer.events if event["type"] == "content_block_delta"]
    assert all(piece.get("text") or piece.get("partial_json") for piece in pieces)
    assert sum("text" in piece for piece in pieces) == min(deltas, len(text))


def test_a_request_that_does_not_stream_gets_one_message():
    with serving(Reply(Thinking("Hm"), "Yes", ToolUse("Bash", {}))) as (_, client):
        message = client.ask("hi", stream=False).json
    assert message["type"] == "message"
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert message["stop_reason"] == "tool_use"
    assert message["usage"]["input_tokens"] == 10


def test_stop_reason_and_usage_are_as_scripted():
    (answer,) = ask_all("hi", script=[Reply("x", stop_reason="max_tokens", usage={"input_tokens": 150_000})])
    assert answer.events[0]["message"]["usage"]["input_tokens"] == 150_000
    assert answer.events[-2]["delta"]["stop_reason"] == "max_tokens"
    assert answer.events[-2]["usage"]["output_tokens"] == 10


def test_a_reply_played_twice_has_new_ids():
    first, second = ask_all("a", "b", script=[Reply(ToolUse("Bash", {}), times=2)])
    assert first.events[0]["message"]["id"] != second.events[0]["message"]["id"]
    assert streamed_content(first)[0]["id"] != streamed_content(second)[0]["id"]


# Scripts and conversations


def test_a_script_is_played_by_position_and_says_when_it_has_ended():
    with serving("one", "two") as (model, client):
        texts = [client.ask(prompt).text for prompt in ("a", "b", "a")]
        assert texts[:2] == ["one", "two"]
        assert texts[2] == "The script has ended: 'main' has 2 replies, and this request asks for one more."
        assert [request.index for request in model.requests] == [0, 1, 2]
        assert model.exhausted == [model.requests[2]]


def test_a_reply_can_be_computed_from_the_request():
    async def slowly(request: ModelRequest) -> Reply:
        await asyncio.sleep(0)
        return Reply(f"async {request.prompt}")

    answers = ask_all("x", "y", script=[lambda request: f"You said {request.prompt}", slowly])
    assert [answer.text for answer in answers] == ["You said x", "async y"]


def test_what_a_reply_function_raises_reaches_the_test():
    def wrong(request: ModelRequest) -> str:
        raise AssertionError("not the prompt I wanted")

    with pytest.raises(AssertionError, match="not the prompt I wanted"):
        ask_all("x", script=[wrong])
    with serving(wrong) as (model, client):
        answer = client.ask("x")
        assert answer.status == 400
        assert "not the prompt I wanted" in answer.json["error"]["message"]
        model.model.failures.clear()


def test_a_reply_function_that_returns_no_reply_is_told_what_to_return():
    with pytest.raises(TypeError, match="42 is no reply: give a Reply"):
        ask_all("x", script=[lambda request: 42])


def test_conversations_have_scripts_of_their_own():
    conversations = {
        "count the files": ["sub 1", "sub 2"],
        "big": Conversation(["big 1"], when=lambda request: request.model == "big"),
    }
    with serving("main 1", "main 2", conversations=conversations) as (model, client):
        texts = [
            client.ask("start").text,
            client.ask("Please count the files here").text,
            client.ask("start", model="big").text,
            client.ask("start").text,
            client.ask("Please count the files here").text,
        ]
        assert texts == ["main 1", "sub 1", "big 1", "main 2", "sub 2"]
        assert [request.conversation for request in model.requests] == [
            "main",
            "count the files",
            "big",
            "main",
            "count the files",
        ]
        assert not model.exhausted


def test_reminders_that_the_cli_adds_are_not_the_prompt():
    content = [
        {"type": "text", "text": "<system-reminder>count the files</system-reminder>"},
        {"type": "text", "text": "start"},
    ]
    with serving("main", conversations={"count the files": ["sub"]}) as (model, client):
        assert client.ask("", messages=[{"role": "user", "content": content}]).text == "main"
        assert model.requests[0].prompt == "start"


SUMMARY = "CRITICAL: text only.\n\nYour task is to create a detailed summary of the conversation so far"


@pytest.mark.parametrize(
    "side",
    [
        {"tools": []},
        {"tools": None},
        {"tools": [], "system": "Generate a concise title."},
        {"messages": [{"role": "user", "content": "<system-reminder>This is a side question from the user"}]},
    ],
)
def test_side_requests_get_a_fixed_answer_and_spend_nothing(side: dict[str, Any]):
    with serving("main", default="canned", conversations={"start": []}) as (model, client):
        assert client.ask("start", **side).text == "canned"
        assert model.requests[0].conversation == "side"
        assert model.remaining() == 1


def test_a_request_for_a_summary_gets_one_and_spends_nothing():
    messages = [{"role": "user", "content": "start"}, {"role": "user", "content": SUMMARY}]
    with serving("main") as (model, client):
        assert client.ask("", messages=messages).text == "<summary>A scripted conversation.</summary>"
        assert model.requests[0].conversation == "side"
        assert model.remaining() == 1


@pytest.mark.parametrize(
    "agent",
    [
        {"context_management": {"edits": []}},
        {"system": [{"type": "text", "text": "\n You are an interactive agent that helps users"}]},
    ],
)
def test_an_agent_without_tools_is_no_side_request(agent: dict[str, Any]):
    with serving("main") as (_, client):
        assert client.ask("start", tools=[], **agent).text == "main"


def test_what_counts_as_a_side_request_can_be_redefined():
    with serving("main", is_side=lambda request: request.model == "small") as (_, client):
        assert client.ask("start", tools=[]).text == "main"
        assert client.ask("start", model="small").text == "ok"


@pytest.mark.parametrize("tool", ["Agent", "Task"])
def test_a_subagent_that_no_script_names_leaves_the_main_script_alone(tool: str):
    script = [ToolUse(tool, {"prompt": "count the files"}), "done"]
    with serving(*script) as (model, client):
        client.ask("start")
        assert client.ask("count the files").text == "ok"
        assert client.ask("start").text == "done"
        assert [request.conversation for request in model.requests] == ["main", "subagent", "main"]


def test_a_newer_cli_says_which_requests_are_a_subagents():
    with serving("main") as (model, client):
        body = json.dumps({"tools": TOOLS, "messages": [{"role": "user", "content": "x"}]}).encode()
        answer = client.request("POST", "/v1/messages", body, **{"x-claude-code-agent-id": "a1"})
        assert answer.text == "ok"
        assert model.requests[0].conversation == "subagent"


async def test_a_script_can_grow_while_it_plays():
    async with ScriptedModel(["one"]) as model:
        model.extend("two", Reply("three", times=2))
        assert model.remaining() == 4
        with pytest.raises(ValueError, match="no script is named 'other'; there are 'main'"):
            model.extend("x", conversation="other")


@pytest.mark.parametrize("entry", [None, 3, {"text": "x"}, ["x"]])
def test_what_is_no_entry_is_refused_when_the_script_is_made(entry: Any):
    with pytest.raises(TypeError, match="is no reply: give a Reply, a block"):
        ScriptedModel([entry])


def test_a_bare_string_is_no_script():
    with pytest.raises(TypeError, match=r"a script is a list of entries: write \['hello'\]"):
        ScriptedModel("hello")


def test_a_conversation_cannot_take_a_reserved_name():
    with pytest.raises(ValueError, match="cannot be named main"):
        ScriptedModel(conversations={"main": []})


# Faults


@pytest.mark.parametrize(
    ("status", "kind"),
    [(529, "overloaded_error"), (429, "rate_limit_error"), (500, "api_error"), (401, "authentication_error")],
)
def test_errors_have_the_real_apis_form(status: int, kind: str):
    (answer,) = ask_all("hi", script=[Reply.error(status)])
    assert answer.status == status
    assert answer.json["type"] == "error"
    assert answer.json["error"]["type"] == kind
    assert "retry-after" not in answer.headers


def test_an_error_can_last_for_several_requests():
    answers = ask_all("hi", "hi", "hi", script=[Reply.error(529, "Busy", times=2, retry_after=1.5), "fine"])
    assert [answer.status for answer in answers] == [529, 529, 200]
    assert answers[0].json["error"]["message"] == "Busy"
    assert answers[0].headers["retry-after"] == "1.5"


def test_an_error_can_come_in_a_stream_that_began_well():
    (answer,) = ask_all("hi", script=[Reply.error(529, mid_stream=True)])
    assert answer.status == 200
    assert [event["type"] for event in answer.events] == ["message_start", "error"]
    assert answer.events[1]["error"]["type"] == "overloaded_error"


def test_a_connection_dropped_before_the_first_byte():
    with serving(Reply.drop(), "fine") as (model, client):
        with pytest.raises(ConnectionError):
            client.ask("hi")
        client.close()
        assert client.ask("hi").text == "fine"
        assert [request.outcome for request in model.requests] == ["dropped", "answered"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_connection_dropped_on_the_way(stream: bool):
    with ScriptedModel([Reply("Hello, world", deltas=6, drop_after=3)]).in_thread() as model:
        with connected(model) as client, pytest.raises(http.client.IncompleteRead) as lost:
            client.ask("hi", stream=stream)
        assert model.requests[0].outcome == "dropped"
    if stream:
        assert lost.value.partial.count(b"content_block_delta\ndata") == 3
        assert b"message_stop" not in lost.value.partial


def test_a_reply_too_short_to_be_dropped_on_the_way_is_dropped_before_its_end():
    with serving(Reply("Hi", drop_after=5)) as (_, client), pytest.raises(http.client.IncompleteRead) as lost:
        client.ask("hi")
    assert lost.value.partial.count(b"content_block_delta\ndata") == 2
    assert b"message_stop" not in lost.value.partial


async def test_silence_lasts_until_the_client_leaves():
    async with ScriptedModel([Reply("Hello, world", deltas=4, hang_after=2), "next"]) as model:
        reader, writer = await raw_request(model)
        heard = await asyncio.wait_for(reader.readuntil(b'"text":"lo,"}}\n\n'), timeout=20)
        assert b"message_stop" not in heard
        writer.transport.abort()
        await model.wait_for(lambda model: model.requests[0].outcome == "disconnected")
        assert model.remaining() == 1


async def raw_request(model: ScriptedModel) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a streaming request and leave the answer unread."""
    host, port = model.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = json.dumps(
        {"model": "m", "stream": True, "tools": TOOLS, "messages": [{"role": "user", "content": "hi"}]}
    ).encode()
    writer.write(b"POST /v1/messages HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    await writer.drain()
    return reader, writer


@pytest.mark.slow
async def test_a_client_that_leaves_in_the_middle_of_a_huge_answer_is_no_trouble():
    async with ScriptedModel([Reply("x" * 20_000_000), "fine"]) as model:
        reader, writer = await raw_request(model)
        await reader.readexactly(100_000)
        writer.transport.abort()
        await model.wait_for(lambda model: model.requests[0].outcome == "disconnected")
        with connected(model) as client:
            assert (await asyncio.to_thread(client.ask, "hi")).text == "fine"


async def test_closing_the_model_ends_what_still_hangs():
    async with ScriptedModel([Reply("Hello", hang_after=0)]) as model:
        reader, writer = await raw_request(model)
        await model.wait_for_requests(1)
    with contextlib.suppress(ConnectionResetError):
        await asyncio.wait_for(reader.read(), timeout=20)
    assert reader.at_eof() or reader.exception() is not None
    writer.close()


async def test_closing_the_model_does_not_wait_for_a_client_that_reads_nothing():
    async with ScriptedModel([Reply("x" * 20_000_000, drop_after=2)]) as model:
        _, writer = await raw_request(model)
        await model.wait_for_requests(1)
        async with asyncio.timeout(20):
            await model.aclose()
        writer.transport.abort()


@pytest.mark.slow
def test_pace():
    started = time.monotonic()
    (answer,) = ask_all("hi", script=[Reply("abcd", deltas=4, delay=0.1, delta_delay=0.05)])
    assert time.monotonic() - started >= 0.3
    assert answer.text == "abcd"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"deltas": 0}, "deltas is 0: it must be at least 1"),
        ({"times": 0}, "times is 0"),
        ({"delay": -1}, "delay is -1: it must be at least 0"),
        ({"drop_after": 1, "hang_after": 1}, "not both"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], complaint: str):
    with pytest.raises(ValueError, match=complaint):
        Reply("x", **options)


def test_an_error_needs_an_error_status():
    with pytest.raises(ValueError, match="200 is not an error status"):
        Reply.error(200)


# The rest of the API


def test_it_counts_tokens():
    with serving() as (model, client):
        answer = client.ask("x" * 4000, path="/v1/messages/count_tokens?beta=true")
        assert answer.json["input_tokens"] > 1000
        assert model.requests[0].query == "beta=true"
        assert model.requests[0].conversation is None


def test_it_answers_the_clis_probes_and_refuses_what_it_does_not_know():
    with serving() as (model, client):
        assert client.request("HEAD", "/").status == 200
        assert client.request("GET", "/api/hello").status == 200
        assert client.request("HEAD", "/nothing").status == 404
        unknown = client.request("PUT", "/api/unknown", b"not json")
        assert unknown.status == 404
        assert unknown.json["error"] == {
            "type": "not_found_error",
            "message": "There is no PUT /api/unknown in this scripted API.",
        }
        assert model.requests[3].body == "not json"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"messages": [1]}', b"\xff\xfe"])
def test_a_message_request_that_is_none_is_refused(body: bytes):
    with serving("x") as (model, client):
        answer = client.request("POST", "/v1/messages", body)
        assert answer.status == 400
        assert answer.json["error"]["type"] == "invalid_request_error"
        assert model.remaining() == 1


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(string.ascii_letters),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["role", "content", "text", "type"]), inner),
        max_leaves=8,
    )
)
def test_no_shape_of_content_upsets_a_request_record(content: Any):
    body = {"messages": [{"role": "user", "content": content}], "tools": content, "system": content}
    request = ModelRequest("POST", "/v1/messages", "", {}, body)
    assert isinstance(request.prompt + request.last_text + request.system, str)
    assert isinstance(request.tools, list)
    assert isinstance(request.tool_results, dict)


def test_requests_are_recorded_without_secrets():
    with serving("x") as (model, client):
        client.request(
            "POST",
            "/v1/messages",
            b"{}",
            **{"X-Api-Key": "sk-1", "Authorization": "Bearer t", "X-App": "cli"},
        )
        headers = model.requests[0].headers
    assert headers["x-api-key"] == headers["authorization"] == "redacted"
    assert headers["x-app"] == "cli"


def test_a_record_tells_the_results_of_tools():
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "three files"}
    messages = [
        {"role": "user", "content": "list"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [result]},
        {"role": "system", "content": "aside"},
    ]
    with serving("x") as (model, client):
        client.ask("", messages=messages, system=[{"type": "text", "text": "Be good."}])
        request = model.requests[0]
    assert request.tool_results == {"t1": result}
    assert request.tools == ["Bash"]
    assert request.system == "Be good."
    assert request.prompt == "list"
    assert request.reply is not None
    assert request.outcome == "answered"


# HTTP


@pytest.mark.slow
def test_huge_bodies_arrive_whole():
    with serving(lambda request: str(len(request.prompt))) as (_, client):
        assert client.ask("x" * 10_000_000).text == "10000000"


def test_chunked_bodies_are_understood():
    with serving(lambda request: request.prompt) as (_, client):
        body = json.dumps({"tools": TOOLS, "messages": [{"role": "user", "content": "in pieces"}]}).encode()
        client._connection.request("POST", "/v1/messages", iter([body[:10], body[10:]]), encode_chunked=True)
        assert json.loads(client._connection.getresponse().read())["content"][0]["text"] == "in pieces"


@pytest.mark.slow
def test_many_connections_at_once():
    async def run() -> list[str]:
        async with ScriptedModel([Reply("x", delta_delay=0.01, times=40)]) as model:
            clients = [Client(model) for _ in range(20)]
            answers = await asyncio.gather(
                *(asyncio.to_thread(lambda c=c: [c.ask("hi").text, c.ask("hi").text]) for c in clients)
            )
            for client in clients:
                client.close()
            return [text for pair in answers for text in pair]

    assert asyncio.run(run()) == ["x"] * 40


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"y" * 2_000_000 + b"\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_a_400_and_the_end(garbage: bytes):
    with ScriptedModel().in_thread() as model:
        host, port = model.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as peer:
            peer.sendall(garbage)
            heard = b""
            try:
                while piece := peer.recv(65536):
                    heard += piece
            except ConnectionResetError:
                pass  # the rest of the garbage was not read
            assert heard[:12] in (b"HTTP/1.1 400", b"")
        with connected(model) as client:
            assert client.request("HEAD", "/").status == 200


def test_a_client_may_ask_before_it_sends_a_large_body():
    with ScriptedModel(["x"]).in_thread() as model:
        host, port = model.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as peer:
            peer.sendall(b"POST /v1/messages HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            assert peer.recv(1000).startswith(b"HTTP/1.1 100 ")
            peer.sendall(b"{}")
            assert peer.recv(1000).startswith(b"HTTP/1.1 400 ")


@pytest.mark.slow
def test_a_turn_costs_little():
    with serving(Reply("x", times=200)) as (_, client):
        started = time.process_time()
        for _ in range(200):
            client.ask("x" * 100_000)
        assert (time.process_time() - started) / 200 < 0.02


# Running it


async def test_waiting_for_requests():
    async with ScriptedModel(["one", "two"]) as model:
        with connected(model) as client:
            asking = asyncio.create_task(asyncio.to_thread(lambda: [client.ask("a"), client.ask("b")]))
            requests = await model.wait_for_requests(2)
            assert [request.prompt for request in requests] == ["a", "b"]
            await asking


async def test_waiting_in_vain_says_what_was_asked():
    async with ScriptedModel() as model:
        with pytest.raises(TimeoutError, match=r"not so after 0.01 s; so far: no request"):
            await model.wait_for_requests(1, timeout=0.01)
        with connected(model) as client:
            await asyncio.to_thread(client.request, "HEAD", "/")
        with pytest.raises(TimeoutError, match=r"so far: HEAD / \(no conversation, answered\)"):
            await model.wait_for_requests(1, timeout=0.01)


async def test_the_url_needs_a_running_model():
    model = ScriptedModel()
    with pytest.raises(RuntimeError, match="the model is not running"):
        _ = model.url
    async with model:
        assert model.env["ANTHROPIC_BASE_URL"] == model.url
        assert model.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    await model.aclose()


def test_synchronous_code_waits_too():
    with serving("x") as (model, client):
        client.ask("hi")
        assert model.wait_for_requests(1)[0].prompt == "hi"
        assert model.requests_in("main") == model.requests
        assert model.env["ANTHROPIC_BASE_URL"] == model.url


# Script files


def test_a_script_file_holds_everything_but_functions(tmp_path: Path):
    path = tmp_path / "script.toml"
    path.write_text(
        """
        default = "canned"

        [[main]]
        thinking = "Hm"
        text = "Let me look."
        tools = [{ name = "Bash", input = { command = "ls" } }, { name = "Read", id = "toolu_1" }]
        usage = { input_tokens = 5 }

        [[main]]
        error = 529
        message = "Busy"
        times = 2
        retry_after = 0

        [[main]]
        drop = true

        [[main]]
        text = "done"
        deltas = 2
        delay = 0.5
        delta_delay = 1
        stop_reason = "max_tokens"
        hang_after = 1

        [[conversations."count the files"]]
        text = "3"
        """
    )
    script = load_script(path)
    first, error, drop, last = script.main
    assert first.blocks == (
        Thinking("Hm"),
        Text("Let me look."),
        ToolUse("Bash", {"command": "ls"}),
        ToolUse("Read", {}, "toolu_1"),
    )
    assert first.usage == {"input_tokens": 5}
    assert error.fault == Reply.error(529, "Busy", retry_after=0).fault
    assert error.times == 2
    assert drop.fault == Reply.drop().fault
    assert (last.deltas, last.delay, last.delta_delay, last.stop_reason, last.hang_after) == (
        2,
        0.5,
        1,
        "max_tokens",
        1,
    )
    assert script.conversations["count the files"][0].blocks == (Text("3"),)

    with ScriptedModel.from_file(path).in_thread() as model, connected(model) as client:
        assert client.ask("start").text == "Let me look."
        assert client.ask("count the files").text == "3"
        assert client.ask("title", tools=[]).text == "canned"


def test_the_example_in_the_documentation_is_a_valid_script(tmp_path: Path):
    from handrail.testing import script_file

    assert script_file.__doc__ is not None
    lines = script_file.__doc__.split("::\n", 1)[1].splitlines()
    example = [line for line in lines if line.startswith("    ") or not line.strip()]
    path = tmp_path / "script.toml"
    path.write_text("\n".join(example))
    assert len(load_script(path).main) == 3


def test_a_list_of_strings_is_a_script_file(tmp_path: Path):
    path = tmp_path / "script.toml"
    path.write_text('main = ["first", { text = "second", times = 2 }]')
    assert [reply.times for reply in load_script(path).main] == [1, 2]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("main = ", "is not valid TOML: "),
        ("mian = []", "unknown key 'mian'; a script file has `main`, `conversations` and `default`"),
        ("[main]\ntext = 'x'", r"main: must be a list of replies: begin each of them with \[\[main\]\]"),
        ("conversations = 3", r"`conversations` must be a table: write \[\[conversations"),
        (
            "[[main]]\ntext = 'a'\n[[main]]\ntxet = 'b'",
            r"main, reply 2: .*`txet`.* A reply is a string or a table of:",
        ),
        ("[[main]]\ntext = 3", r"main, reply 1: Expected `str \| null`, got `int` - at `\$.text`"),
        ("[[main]]\ntools = [{ input = {} }]", r"reply 1: .*missing required field `name`.*tools\[0\]"),
        (
            "[[main]]\ndeltas = 3",
            "reply 1: give either `text`, `thinking` or `tools`, or `error`, or `drop = true`",
        ),
        ("[[main]]\ntext = 'x'\nerror = 500", "reply 1: give either"),
        (
            "[[main]]\ntext = 'x'\nretry_after = 1",
            "`retry_after` has no meaning for a reply with content: remove it",
        ),
        ("[[main]]\nerror = 500\ndeltas = 9", "`deltas` has no meaning for an error"),
        ("[[main]]\ndrop = true\nmessage = 'x'", "`message` has no meaning for a dropped connection"),
        ("[[main]]\nerror = 200", "main, reply 1: 200 is not an error status"),
        ("[[main]]\ntext = 'x'\ntimes = 0", "main, reply 1: times is 0: it must be at least 1"),
        ("[[conversations.sub]]\ndrop = 1", "conversation 'sub', reply 1: "),
        ("default = 3", "default: "),
    ],
)
def test_a_bad_script_file_says_where_and_what_to_do(tmp_path: Path, content: str, complaint: str):
    path = tmp_path / "script.toml"
    path.write_text(content)
    with pytest.raises(ScriptFileError, match=complaint) as raised:
        ScriptedModel.from_file(path)
    assert str(raised.value).startswith(f"{path}: ")


def test_a_script_file_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(ScriptFileError, match=r"missing.toml: cannot be read: No such file"):
        load_script(tmp_path / "missing.toml")
    (tmp_path / "latin.toml").write_bytes(b'main = ["\xe9"]')
    with pytest.raises(ScriptFileError, match="save it as UTF-8"):
        load_script(tmp_path / "latin.toml")
