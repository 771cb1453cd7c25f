"""Templates of one's own: each stands in for ours of the same name, and one that fails is left out and named.

A page never breaks over a template of somebody's: where it cannot be read or rendered, ours is used, and what is wrong
with it is shown on the page of the policy.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    TemplateError,
    TemplateSyntaxError,
)

from quarantine.errors import BadConfiguration

log = logging.getLogger("quarantine.web")
OURS = "ours"
"""The folder under which a template of somebody's finds ours of the same name, to extend it."""

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a template: its name, and the error with the line where there is one."""

    template: str
    message: str


@dataclass(slots=True)
class Overrides:
    """The templates of a folder beside ours.

    Attributes:
        faults: by template, what is wrong with it.
    """

    own: Environment
    theirs: Environment
    names: frozenset[str]
    faults: dict[str, Fault] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, ours: BaseLoader, environment: Callable[[BaseLoader], Environment]) -> "Overrides":
        """Return the templates of a folder, each read once; raises BadConfiguration when there is no such folder."""
        if not folder.is_dir():
            raise BadConfiguration(
                f"There is no folder {folder} with templates.", mend="Make it, or leave out the setting `templates`."
            )
        loader = FileSystemLoader(folder)
        names = frozenset(name for name in loader.list_templates() if name.endswith(".html"))
        known = set(ours.list_templates())
        theirs = ChoiceLoader([loader, ours, PrefixLoader({OURS: ours})])
        found = cls(environment(ours), environment(theirs), names)
        for name in sorted(names):
            if name not in known:
                found.note(name, "No page has a template of this name.")
            else:
                found.read(name)
        return found

    def read(self, name: str) -> None:
        """Note what keeps a template from being read, if anything."""
        try:
            self.theirs.get_template(name)
        except (TemplateError, UnicodeDecodeError, OSError) as error:
            self.note(name, said(error))

    def render(self, name: str, values: dict[str, Any]) -> str:
        """Return a page by their templates, or by ours alone where theirs fail."""
        try:
            return self.theirs.get_template(name).render(values)
        except Exception as error:  # noqa: BLE001 - whatever a template of somebody's does, the page is shown
            self.note(blamed(error, self.names) or name, said(error))
            return self.own.get_template(name).render(values)

    def note(self, name: str, message: str) -> None:
        """Remember what is wrong with a template, and log it once."""
        fault = Fault(name, message)
        if self.faults.get(name) != fault:
            log.warning("The template %s of your own is not used: %s", name, message)
            self.faults[name] = fault


def said(error: Exception) -> str:
    """Return what an error says, with the line it was made on."""
    words = str(error) or type(error).__name__
    where = f"line {error.lineno}: " if isinstance(error, TemplateSyntaxError) else ""
    line = _line_of(error)
    where = where or (f"line {line}: " if line else "")
    return f"{where}{words}"[:_LONGEST]


def blamed(error: Exception, names: frozenset[str]) -> str | None:
    """Return which of these templates an error came from, the innermost; None when it came from none of them."""
    if isinstance(error, TemplateSyntaxError) and error.name in names:
        return error.name
    found = [name for name, _line in _frames(error) if name in names]
    return found[-1] if found else None


def _line_of(error: Exception) -> int | None:
    lines = [line for _name, line in _frames(error)]
    return lines[-1] if lines else None


def _frames(error: Exception) -> list[tuple[str, int]]:
    """Return (template, line) of the frames of templates that an error went through, the outermost first."""
    found, trace = [], error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if path.endswith(".html"):
            found.append((Path(path).name, trace.tb_lineno))
        trace = trace.tb_next
    return found
