"""A stdio MCP server for the tests whose tools ask the user: `book` for a form, `sign_in` for an address to open.

Written out by hand, because only servers of the protocol before 2026-07-28 ask by a request of their own.
"""

from __future__ import annotations

import json
import sys
from typing import Any

BOOKING = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "seats": {"type": "integer", "minimum": 1, "maximum": 8},
    },
    "required": ["name", "seats"],
}
ASKS: dict[str, dict[str, Any]] = {
    "book": {"mode": "form", "message": "For how many?", "requestedSchema": BOOKING},
    "sign_in": {
        "mode": "url",
        "message": "Please sign in.",
        "url": "https://example.com/sign-in",
        "elicitationId": "sign-in-1",
    },
}
TOOLS = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in ASKS]


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "desk", "version": "1"}
        version = min(params["protocolVersion"], "2025-11-25")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    return {"tools": TOOLS} if method == "tools/list" else {}


def main() -> None:
    calls: list[Any] = []
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            calls.append(message["id"])
            send(id="question", method="elicitation/create", params=ASKS[message["params"]["name"]])
        elif message.get("id") == "question":
            answer = message.get("result") or message.get("error")
            send(id=calls.pop(), result={"content": [{"type": "text", "text": json.dumps(answer)}]})
        elif "id" in message:
            send(id=message["id"], result=result_of(message["method"], message.get("params", {})))


if __name__ == "__main__":
    main()
