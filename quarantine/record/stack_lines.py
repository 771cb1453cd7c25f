"""The lines by which tools outside Python name a place: one pattern per way of writing it.

Groups are `path`, `line`, `function`, and `said` for what the line says besides. Patterns are tried in order; all are
matched on one line of bounded length, and none holds a repetition inside a repetition.
"""

import re

FILE_NAME = r"[^\s:()'\"<>|]+\.[A-Za-z]\w{0,9}"
LONG_PATH = r"(?:[A-Za-z]:)?[\\/][^:()'\"<>|]{1,400}\.[A-Za-z]\w{0,9}"
JVM_FILE = r"[\w$.-]+\.(?:java|kt|kts|scala|groovy|clj)"
ARROW = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"

JAVA = re.compile(
    r"^\s*(?:at )?(?:[\w.@-]*/)*(?P<owner>(?:[\w$]+\.)*[\w$]+)\.(?P<function>[^().]{1,200})"
    rf"\((?P<path>{JVM_FILE})(?::(?P<line>[0-9]+))?\)$"
)
DOTNET = re.compile(r"^\s*(?:at|in|bei|à) (?P<function>.{1,400}?\)) in (?P<path>.{1,400}):line (?P<line>[0-9]+)$")
VITEST = re.compile(rf"^\s*{ARROW} (?P<function>\S{{1,200}}) (?P<path>[^\s:]{{1,400}}):(?P<line>[0-9]+):[0-9]+$")
JAVASCRIPT = re.compile(
    rf"^\s*(?:at|{ARROW}) (?:async )?(?:(?P<function>[^()]{{1,200}}) \()?"
    r"(?P<path>(?:[A-Za-z]+:)?[^\s()][^()]{0,400}?):(?P<line>[0-9]+):[0-9]+\)?(?: \{)?$"
)
RUST_PANIC = re.compile(
    r"^\s*thread '(?P<function>.{0,300}?)' (?:\([0-9]+\) )?panicked at (?:'(?P<said>.{0,1000})', )?"
    r"(?P<path>[^\s:']{1,400}):(?P<line>[0-9]+):[0-9]+:?$"
)
RUST_AT = re.compile(r"^\s+at (?P<path>[^\s:]{1,400}\.rs):(?P<line>[0-9]+)(?::[0-9]+)?$")
GO_STACK = re.compile(r"^\s*(?P<path>\S{1,400}\.(?:go|s)):(?P<line>[0-9]+)(?: \+0x[0-9a-f]+)?$")
GO_SAID = re.compile(r"^\s*(?P<path>[\w./-]{1,400}\.go):(?P<line>[0-9]+):(?:[0-9]+:)? ?(?P<said>.*)$")
RUBY = re.compile(
    r"^\s*(?:# )?(?P<path>[^\s:]{1,400}\.(?:rb|feature|rake|erb)):(?P<line>[0-9]+)(?::in [`'](?P<function>.{0,300})')?$"
)
PHP = re.compile(r"^#[0-9]+ (?P<path>[^()]{1,400})\((?P<line>[0-9]+)\): (?P<function>.*)$")
COMPILER = re.compile(
    rf"^\s*(?P<path>{FILE_NAME}|{LONG_PATH})[:(](?P<line>[0-9]+)(?:[:,][0-9]+)?\)?: "
    r"(?P<said>(?:fatal )?(?:error|Failure|failure|FAILED)\b.*)$"
)
ALONE = re.compile(
    rf"^\s*(?:at |# |Location: |File: )?(?P<path>{FILE_NAME}|{LONG_PATH})[:(](?P<line>[0-9]+)\)?(?::[0-9]+)?$"
)

PATTERNS = (JAVA, DOTNET, VITEST, JAVASCRIPT, RUST_PANIC, RUST_AT, GO_STACK, RUBY, PHP, COMPILER, GO_SAID, ALONE)

NO_PLACE = re.compile(
    r"^\s*at .{0,400}(?:\((?:Native Method|Unknown Source|<generated>|<anonymous>|native|index [0-9]+)\)"
    r"|<Jasmine>|<anonymous>)(?: \{)?$"
    r"|^\s*(?:at|bei|à) [\w.<>`+,\[\]& ]{1,300}\([^()]{0,300}\)$|^\s*\.\.\. [0-9]+ (?:more|common frames omitted)$"
    r"|^[\w$.]{1,300}\((?:Native Method|Unknown Source)\)$|^created by \S+"
)
"""A line of a stack without a place in a file."""

NOTHING = re.compile(
    r"^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)\b.*|--- FAIL: .*\([0-9.]+s\)|note: .*RUST_BACKTRACE.*|stack backtrace:"
    r"|goroutine [0-9]+ \[.*"
    r"|-+>? ?End of .*(?:stack trace|location).*|exit status [0-9]+|at|FAIL\\t.*"
    r"|stack ?trace:?|error trace:.*|[-=_*~ ]{8,}|.{0,300}[─⎯━═]{8,})\s*$",
    re.IGNORECASE,
)
"""A line that tells a reader nothing."""

CAUSE = re.compile(r"^\s*(?:Caused by|\[cause\]|Suppressed|cause): (?P<said>.*)$")
"""Where another exception begins."""


POINTED = re.compile(r"^\s*>\s*[0-9]+ \|(?P<code>.*)$")
"""The statement that a JavaScript code frame points at."""

AROUND = re.compile(r"^\s*[0-9]+ \|(?: .*)?$|^\s*\|\s*[\^~]+\s*$")
"""The other lines of a code frame."""
