"""The parameters of a call, however they came: in the address, as a form, as a form with files, or as JSON."""

from __future__ import annotations

import email.parser
import email.policy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from handrail.testing._http import HTTPRequest
from handrail.testing.telegram.api_errors import bad_request

__all__ = ["Parameters", "Upload", "read_parameters"]

_NUMBER = re.compile(r"\s*([+-]?\d+)")
_TRUE = frozenset({"true", "yes", "1"})


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a call."""

    name: str
    mime: str
    data: bytes


class Parameters:
    """What a call says. Numbers and flags are read as leniently as the real server does: what is none counts as 0."""

    def __init__(self, values: Mapping[str, Any], files: Mapping[str, Upload] | None = None) -> None:
        self.values = {name: value for name, value in values.items() if value is not None}
        self.files = dict(files or {})

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, default: str = "") -> str:
        """A text; what came as a JSON value of another type is taken as it would be written."""
        value = self.values.get(name, default)
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()

    def number(self, name: str, default: int = 0) -> int:
        """A whole number."""
        found = _NUMBER.match(self.text(name, str(default)))
        return int(found[1]) if found else 0

    def flag(self, name: str) -> bool:
        """Yes or no."""
        return self.text(name).lower() in _TRUE

    def json(self, name: str, default: Any = None) -> Any:
        """A value that is JSON, or in a form the text of it. Raises `ValueError` if it is not JSON."""
        value = self.values.get(name, "")
        if not isinstance(value, str):
            return value
        return msgspec.json.decode(value) if value else default


def read_parameters(request: HTTPRequest) -> Parameters:
    """Everything a request says, the address first. Raises `ApiError` if the body is not what its header says."""
    values: dict[str, Any] = dict(parse_qsl(request.query, keep_blank_values=True))
    kind, _, _ = request.headers.get("content-type", "").partition(";")
    match kind.strip().lower():
        case "application/json":
            return Parameters({**values, **_json_object(request.body)})
        case "application/x-www-form-urlencoded":
            return Parameters({**values, **dict(parse_qsl(_utf8(request.body), keep_blank_values=True))})
        case "multipart/form-data":
            fields, files = _multipart(request.headers["content-type"], request.body)
            return Parameters({**values, **fields}, files)
    return Parameters(values)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any]) if body.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request("can't parse JSON object") from error


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise bad_request("strings must be encoded in UTF-8") from error


def _multipart(content_type: str, body: bytes) -> tuple[dict[str, str], dict[str, Upload]]:
    fields: dict[str, str] = {}
    files: dict[str, Upload] = {}
    for head, data in _parts(_header_parameter(content_type, "boundary"), body):
        name = str(head.get_param("name", "", "content-disposition"))
        filename = head.get_filename()
        if filename is None:
            fields[name] = _utf8(data)
        else:
            files[name] = Upload(filename, head.get_content_type(), data)
    return fields, files


def _parts(boundary: str, body: bytes) -> Iterator[tuple[Message, bytes]]:
    """The head and content of each part. The content stays as it is: the API takes no transfer encodings."""
    parser = email.parser.BytesHeaderParser(policy=email.policy.HTTP)
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary.encode())[1:]:
        if part.startswith(b"--"):
            return
        head, _, data = part.partition(b"\r\n\r\n")
        yield parser.parsebytes(head.lstrip(b"\r\n") + b"\r\n\r\n"), data


def _header_parameter(value: str, name: str) -> str:
    message = Message()
    message["content-type"] = value
    return str(message.get_param(name, ""))
