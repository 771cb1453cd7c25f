"""The failure record: the few lines about a red run that whoever wrote the patch should read. Text in, text out."""

from quarantine.record.tokens import estimate_tokens
from quarantine.record.values import Event, Failed, Record
from quarantine.record.writing import failure_record

__all__ = ["Event", "Failed", "Record", "estimate_tokens", "failure_record"]
