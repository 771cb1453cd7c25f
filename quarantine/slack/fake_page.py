"""The page of the server that plays Slack: channels with their threads, buttons that can be pressed, pictures."""

import urllib.request
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError

if TYPE_CHECKING:
    from quarantine.slack.fake import FakeSlack

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d1c1d; --soft: #616061; --line: #ddd;
  --link: #1264a3; --sunk: #f4f4f4 }
@media (prefers-color-scheme: dark) { :root { --paper: #1a1d21; --ink: #e8e8e8; --soft: #ababad;
  --line: #3a3d42; --link: #6cb7e8; --sunk: #26292e } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 48rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.47 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.1rem }
h2 { font-size: 1rem; margin: 2rem 0 0; border-bottom: 1px solid var(--line); padding-bottom: .4rem }
h3 { font-size: 1.12rem; margin: .2rem 0 }
a { color: var(--link) }
.soft, small { color: var(--soft) }
article { padding: .9rem 0; border-bottom: 1px solid var(--line) }
.reply { margin-left: 2.2rem; border-left: 3px solid var(--line); padding-left: .9rem; border-bottom: 0 }
p, ul { margin: .25rem 0; white-space: pre-wrap }
ul { padding-left: 1.3rem; white-space: normal }
code { background: var(--sunk); border: 1px solid var(--line); border-radius: 3px; padding: 0 .25em;
  font-size: .9em }
form { display: inline }
button { font: inherit; font-weight: 600; padding: .25rem .75rem; border: 1px solid var(--line);
  border-radius: 4px; background: var(--paper); color: var(--ink); cursor: pointer;
  margin: .25rem .35rem .25rem 0 }
button.primary { background: #007a5a; color: #fff }
button.danger { background: #b3261e; color: #fff }
img { display: block; max-width: 100%; height: auto; margin: .5rem 0; border: 1px solid var(--line);
  border-radius: 6px }
"""


def page(slack: "FakeSlack", path: str) -> tuple[bytes, str] | None:
    """Return the body and media type of a page; None where there is none."""
    if path.startswith("/files/"):
        with slack.lock:
            found = slack.files.get(path.removeprefix("/files/"))
        return (found.content, "image/png") if found else None
    if path != "/":
        return None
    with slack.lock:
        shown = "".join(_channel(name, slack.messages[channel], channel) for channel, name in _channels(slack))
    body = shown or '<p class="soft">Nothing has been posted yet.</p>'
    return _whole(body).encode(), "text/html; charset=utf-8"


def _channels(slack: "FakeSlack") -> list[tuple[str, str]]:
    return [(channel, slack.channels.get(channel, channel)) for channel in slack.messages]


def _whole(body: str) -> str:
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Not Slack</title><style>{_STYLE}</style><h1>What Slack would show</h1>{body}</html>"
    )


def _channel(name: str, messages: Sequence[Mapping[str, Any]], channel: str) -> str:
    roots = [message for message in messages if not message.get("thread_ts")]
    shown = ""
    for root in roots:
        replies = [message for message in messages if message.get("thread_ts") == root["ts"]]
        shown += _message(root, channel, "") + "".join(_message(reply, channel, "reply") for reply in replies)
    return f"<section><h2>#{escape(name)}</h2>{shown}</section>"


def _message(message: Mapping[str, Any], channel: str, kind: str) -> str:
    edited = ' <small class="soft">(edited)</small>' if "edited" in message else ""
    blocks = "".join(_block(block, channel, message["ts"]) for block in message.get("blocks", ()))
    blocks = blocks or f"<p>{_notification(message['text'])}</p>"
    return f'<article class="{kind}"><b>quarantine</b> <small class="soft">app</small>{edited}{blocks}</article>'


def _notification(text: str) -> str:
    return escape(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def _block(block: Mapping[str, Any], channel: str, ts: str) -> str:
    kind = block["type"]
    if kind == "header":
        return f"<h3>{escape(block['text']['text'])}</h3>"
    if kind == "divider":
        return "<hr>"
    if kind == "image":
        source = escape(f"/files/{block['slack_file']['id']}", quote=True)
        return f'<img alt="{escape(block["alt_text"], quote=True)}" src="{source}">'
    if kind == "context":
        return "".join(f"<p><small>{escape(element['text'])}</small></p>" for element in block["elements"])
    if kind == "actions":
        return f"<p>{''.join(_button(element, channel, ts) for element in block['elements'])}</p>"
    return "".join(_rich(element) for element in block.get("elements", ()))


def _rich(element: Mapping[str, Any]) -> str:
    if element["type"] == "rich_text_list":
        return "<ul>" + "".join(f"<li>{_spans(line['elements'])}</li>" for line in element["elements"]) + "</ul>"
    return f"<p>{_spans(element['elements'])}</p>"


def _spans(elements: Sequence[Mapping[str, Any]]) -> str:
    return "".join(_span(element) for element in elements)


def _span(element: Mapping[str, Any]) -> str:
    kind = element["type"]
    if kind in ("user", "usergroup", "channel"):
        return f"<b>@{escape(str(element[f'{kind}_id']))}</b>"
    text = escape(str(element["text"]))
    style = element.get("style", {})
    text = f"<code>{text}</code>" if style.get("code") else text
    text = f"<b>{text}</b>" if style.get("bold") else text
    return f'<a href="{escape(element["url"], quote=True)}">{text}</a>' if kind == "link" else text


def _button(button: Mapping[str, Any], channel: str, ts: str) -> str:
    hidden = "".join(
        f'<input type="hidden" name="{name}" value="{escape(value, quote=True)}">'
        for name, value in {"channel": channel, "ts": ts, "action": f"{button['action_id']} {button['value']}"}.items()
    )
    label = escape(button["text"]["text"])
    style = escape(button.get("style", ""))
    return f'<form method="post" action="/press">{hidden}<button class="{style}">{label}</button></form>'


def pressed(slack: "FakeSlack", values: Mapping[str, str]) -> bytes:
    """Press a button as Slack would tell it, and return a page that says what was answered."""
    if not slack.actions_url:
        said = "No address was given where presses go: start it with --actions-url."
        return _whole(f"<p>{said}</p><p><a href='/'>Back</a></p>").encode()
    body, headers = slack.press(values["channel"], values["ts"], values["action"])
    request = urllib.request.Request(slack.actions_url, body, dict(headers), method="POST")  # noqa: S310 - the operator named it
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - the operator named it
            said = f"Answered {answer.status}. {answer.read(2_000).decode('utf-8', 'replace')}"
    except HTTPError as error:
        said = f"Answered {error.code}. {error.read(2_000).decode('utf-8', 'replace')}"
    except (URLError, OSError) as error:
        said = f"Nobody answered at {slack.actions_url}: {error}"
    return _whole(f"<p>{escape(said)}</p><p><a href='/'>Back</a></p>").encode()
