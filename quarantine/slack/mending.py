"""What only a person can mend, by Slack's own error codes, and the sentence that says how."""

__all__ = ["MENDS", "PASSING", "mend_of"]

MENDS: dict[str, str] = {
    "account_inactive": "The bot was removed from the workspace. Install the app again and set its new token.",
    "action_prohibited": "An admin of the workspace has forbidden this webhook. Ask for it, or use a bot token.",
    "cant_update_message": "The message belongs to another app. Was the token changed for that of another bot?",
    "channel_is_archived": "The channel is archived. Unarchive it, or name another one in the settings.",
    "channel_not_found": "There is no such channel, or the bot cannot see it. Name channels by their id, such as "
    "C0123, and invite the bot to private ones.",
    "ekm_access_denied": "The workspace's admins have suspended posting. Ask them.",
    "invalid_auth": "The token is not valid. Set QUARANTINE_SLACK_TOKEN to the bot token, which begins with xoxb-.",
    "invalid_blocks": "Slack does not understand the message. That is our mistake: please report it.",
    "invalid_blocks_format": "Slack does not understand the message. That is our mistake: please report it.",
    "invalid_payload": "Slack does not understand the message. That is our mistake: please report it.",
    "invalid_token": "The webhook is not valid. Make a new one and set QUARANTINE_SLACK_WEBHOOK.",
    "is_archived": "The channel is archived. Unarchive it, or name another one in the settings.",
    "message_not_found": "The message was deleted, so it cannot be updated. The next news begins a new one.",
    "missing_scope": "The app lacks a permission. Give it chat:write, files:write, channels:history and, for private "
    "channels, groups:history; then install it again.",
    "msg_blocks_too_long": "The message is too long. That is our mistake: please report it.",
    "msg_too_long": "The message is too long. That is our mistake: please report it.",
    "no_active_hooks": "The webhook was switched off. Make a new one and set QUARANTINE_SLACK_WEBHOOK.",
    "no_permission": "The app may not post here. Give it chat:write and install it again.",
    "no_service": "The webhook was removed. Make a new one and set QUARANTINE_SLACK_WEBHOOK.",
    "no_service_id": "The webhook is not valid. Make a new one and set QUARANTINE_SLACK_WEBHOOK.",
    "no_team": "The webhook's workspace is gone. Make a new one and set QUARANTINE_SLACK_WEBHOOK.",
    "no_text": "Slack says the message is empty. That is our mistake: please report it.",
    "not_allowed_token_type": "This is no bot token. Use the one that begins with xoxb-.",
    "not_authed": "No token was sent. Set QUARANTINE_SLACK_TOKEN.",
    "not_in_channel": "The bot is not in the channel. Invite it: /invite @quarantine.",
    "org_login_required": "The workspace is being moved by its organisation. Wait for that, then send again.",
    "posting_to_general_channel_denied": "The webhook may not post to the general channel. Choose another one.",
    "restricted_action": "The workspace does not let apps post here. Ask an admin, or name another channel.",
    "team_access_not_granted": "The app is not approved for this workspace. Ask an admin.",
    "team_disabled": "The workspace was disabled.",
    "thread_not_found": "The thread's first message was deleted. The next news begins a new one.",
    "token_expired": "The token has expired. Install the app again and set its new token.",
    "token_revoked": "The token was revoked. Install the app again and set its new token.",
    "user_not_found": "There is no such person in this workspace. Mend the id among the owners in the settings.",
}
"""Codes that sending again does not help, each with what does."""

PASSING = frozenset(
    ("fatal_error", "internal_error", "ratelimited", "rate_limited", "request_timeout", "service_unavailable")
)
"""Codes that may pass by themselves."""


def mend_of(code: str) -> str:
    """Return what helps against a code; for one we do not know, where Slack explains it."""
    return MENDS.get(code, f"Slack says {code!r}; its page on the method says what that means.")
