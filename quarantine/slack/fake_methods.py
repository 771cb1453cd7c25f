"""The methods of Slack's API that the server plays: what is checked, what is kept, what is answered."""

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarantine.slack.cutting import BLOCKS, length

if TYPE_CHECKING:
    from quarantine.slack.fake import FakeSlack

__all__ = ["METHODS", "File", "no"]

_TEAM = "T0FAKE"
_TOTAL_CHARACTERS = 13_200


@dataclass(slots=True)
class File:
    """A file that was or is being uploaded. `completed_at` is of the monotonic clock; None until it is whole."""

    name: str
    content: bytes = b""
    completed_at: float | None = None


def no(error: str) -> dict[str, Any]:
    """Return what Slack answers to a call that it refuses."""
    return {"ok": False, "error": error}


def _fault_of_message(slack: "FakeSlack", values: Mapping[str, Any]) -> str:
    """Return the error code Slack would answer to this message with; "" for a sound one."""
    blocks = values.get("blocks") or []
    if not blocks and not values.get("text"):
        return "no_text"
    if len(blocks) > BLOCKS or any(not _is_sound(block) or not _is_usable(slack, block) for block in blocks):
        return "invalid_blocks"
    return "msg_blocks_too_long" if length(list(blocks)) > _TOTAL_CHARACTERS else ""


_LONGEST = {"header": 150, "section": 3_000}


def _is_sound(block: Any) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return False
    text = block.get("text")
    if isinstance(text, dict) and not 0 < len(text.get("text", "")) <= _LONGEST.get(block["type"], 3_000):
        return False
    elements = block.get("elements", [])
    if block["type"] == "context" and not 0 < len(elements) <= 10:  # noqa: PLR2004 - Slack's limit
        return False
    if block["type"] == "actions" and not 0 < len(elements) <= 25:  # noqa: PLR2004 - Slack's limit
        return False
    return all(len(element.get("value", "")) <= 2_000 for element in elements if isinstance(element, dict))  # noqa: PLR2004 - Slack's limit


def _is_usable(slack: "FakeSlack", block: Mapping[str, Any]) -> bool:
    """Return whether a block that shows a file may be posted: the file is there, whole, and old enough."""
    if block["type"] != "image":
        return True
    file_id = block["slack_file"].get("id") if isinstance(block.get("slack_file"), dict) else None
    found = slack.files.get(str(file_id))
    return (
        found is not None
        and found.completed_at is not None
        and time.monotonic() >= found.completed_at + slack.usable_after_s
        and 0 < len(str(block.get("alt_text", ""))) <= 2_000  # noqa: PLR2004 - Slack's limit
    )


def _direct(slack: "FakeSlack", person: str) -> str:
    """Return the channel in which the bot talks to one person."""
    channel = f"D{person[1:]}"
    slack.channels.setdefault(channel, f"@{person}")
    return channel


def _open_direct(slack: "FakeSlack", values: dict[str, Any]) -> dict[str, Any]:
    return {"ok": True, "channel": {"id": _direct(slack, str(values.get("users", "")))}}


def _post(slack: "FakeSlack", values: dict[str, Any]) -> dict[str, Any]:
    channel = str(values.get("channel", ""))
    if channel[:1] in ("U", "W") and channel != "WEBHOOK":
        channel = _direct(slack, channel)
    if not slack.has(channel):
        return no("channel_not_found")
    if fault := _fault_of_message(slack, values):
        return no(fault)
    thread = values.get("thread_ts")
    if thread and not any(message["ts"] == thread for message in slack.messages.get(channel, ())):
        return no("thread_not_found")
    ts = slack.new_ts()
    kept = {name: values[name] for name in ("text", "blocks", "metadata", "thread_ts") if values.get(name)}
    slack.messages.setdefault(channel, []).append({"ts": ts, "user": "U0BOT", "type": "message", **kept})
    return {"ok": True, "channel": channel, "ts": ts}


def _update(slack: "FakeSlack", values: dict[str, Any]) -> dict[str, Any]:
    channel = str(values.get("channel", ""))
    if not slack.has(channel):
        return no("channel_not_found")
    if fault := _fault_of_message(slack, values):
        return no(fault)
    for message in slack.messages.get(channel, ()):
        if message["ts"] == values.get("ts"):
            message.update({name: values[name] for name in ("text", "blocks", "metadata") if values.get(name)})
            message["edited"] = {"user": "U0BOT", "ts": slack.new_ts()}
            return {"ok": True, "channel": channel, "ts": message["ts"]}
    return no("message_not_found")


def _listed(slack: "FakeSlack", values: dict[str, Any], *, in_thread: bool) -> dict[str, Any]:
    channel = str(values.get("channel", ""))
    if not slack.has(channel):
        return no("channel_not_found")
    found = [
        message
        for message in slack.messages.get(channel, ())
        if (
            values.get("ts") in (message["ts"], message.get("thread_ts")) if in_thread else not message.get("thread_ts")
        )
        and float(message["ts"]) >= float(values.get("oldest") or 0)
    ]
    found = found if in_thread else found[::-1]
    begin, limit = int(values.get("cursor") or 0), int(values.get("limit") or 100)
    page, rest = found[begin : begin + limit], len(found) > begin + limit
    if not _is_true(values.get("include_all_metadata")):
        page = [{name: value for name, value in message.items() if name != "metadata"} for message in page]
    return {"ok": True, "messages": page, "response_metadata": {"next_cursor": str(begin + limit) if rest else ""}}


def _is_true(value: Any) -> bool:
    return str(value).lower() in ("1", "true")


def _history(slack: "FakeSlack", values: dict[str, Any]) -> dict[str, Any]:
    return _listed(slack, values, in_thread=False)


def _replies(slack: "FakeSlack", values: dict[str, Any]) -> dict[str, Any]:
    return _listed(slack, values, in_thread=True)


def _whoami(_slack: "FakeSlack", _values: dict[str, Any]) -> dict[str, Any]:
    return {"ok": True, "team": "Fake", "team_id": _TEAM, "user": "quarantine", "user_id": "U0BOT", "bot_id": "B0BOT"}


def _upload_url(slack: "FakeSlack", values: dict[str, Any]) -> dict[str, Any]:
    if not values.get("filename") or not int(values.get("length") or 0):
        return no("invalid_arguments")
    file_id = f"F{secrets.token_hex(5).upper()}"
    slack.files[file_id] = File(str(values["filename"]))
    return {"ok": True, "upload_url": f"{slack.address}/upload/{file_id}", "file_id": file_id}


def _complete(slack: "FakeSlack", values: dict[str, Any]) -> dict[str, Any]:
    files = values.get("files") or []
    files = json.loads(files) if isinstance(files, str) else files
    for file in files:
        found = slack.files.get(file["id"])
        if found is None or not found.content:
            return no("file_not_found")
        found.completed_at = time.monotonic()
    return {"ok": True, "files": [{"id": file["id"], "title": file.get("title")} for file in files]}


def _open(slack: "FakeSlack", values: dict[str, Any]) -> dict[str, Any]:
    view = values.get("view")
    slack.views.append(json.loads(view) if isinstance(view, str) else dict(view or {}))
    return {"ok": True, "view": {"id": f"V{len(slack.views)}"}}


METHODS: dict[str, Callable[["FakeSlack", dict[str, Any]], dict[str, Any]]] = {
    "auth.test": _whoami,
    "chat.postMessage": _post,
    "chat.update": _update,
    "conversations.history": _history,
    "conversations.open": _open_direct,
    "conversations.replies": _replies,
    "files.completeUploadExternal": _complete,
    "files.getUploadURLExternal": _upload_url,
    "views.open": _open,
}
