"""Turning values into pages: one template environment, and the two files that pages load."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from quarantine.web.overrides import Fault, Overrides
from quarantine.web.showing import FILTERS, finalized

_MEDIA_TYPES = {".css": "text/css", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages load, known by its content."""

    name: str
    content: bytes
    media_type: str
    version: str


def _assets(folder: Path) -> dict[str, Asset]:
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in _MEDIA_TYPES:
            content = path.read_bytes()
            version = hashlib.sha256(content).hexdigest()[:16]
            found[path.name] = Asset(path.name, content, _MEDIA_TYPES[path.suffix], version)
    return found


class Renderer:
    """Renders the templates of one folder.

    Escaping is always on, a name that is not given is an error, and every text that a template prints passes through
    `showing.shown`, so a template has to ask to be unsafe rather than to be safe.
    """

    def __init__(self, folder: Path, overrides: Path | None = None) -> None:
        """Render the templates of `folder`; those of the same name in `overrides` stand in for them.

        Raises BadConfiguration when there is no folder `overrides`.
        """
        self.assets = _assets(folder / "static")
        ours = FileSystemLoader(folder)
        self._templates = self._environment(ours)
        self.overrides = None if overrides is None else Overrides.of(overrides, ours, self._environment)

    def _environment(self, loader: BaseLoader) -> Environment:
        templates = Environment(
            loader=loader,
            autoescape=True,
            undefined=StrictUndefined,
            finalize=finalized,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        templates.filters.update(FILTERS)
        templates.globals["asset"] = self._asset_path
        return templates

    @property
    def faults(self) -> list[Fault]:
        """What is wrong with templates of one's own, by name."""
        return [] if self.overrides is None else sorted(self.overrides.faults.values(), key=lambda one: one.template)

    def _asset_path(self, name: str) -> str:
        return f"/static/{name}?v={self.assets[name].version}"

    def file(self, template: str, *, root: str, **values: Any) -> str:
        """Return a page as one file, which holds its sheet and links to the server at `root`."""
        sheet = Markup(self.assets["style.css"].content.decode())  # noqa: S704 - our own
        rendered = self._templates.get_template(template)
        return rendered.render(root=root, address=root, signed_in=False, sheet=sheet, **values)

    def page(
        self, request: Request, template: str, *, status: int = 200, signed_in: bool = False, **values: Any
    ) -> HTMLResponse:
        """Return the rendered page. It is of one moment and for one reader, so nothing may keep it."""
        known = {
            "root": request.scope.get("root_path", ""),
            "address": str(request.base_url).rstrip("/"),
            "signed_in": signed_in,
        }
        content = self._rendered(template, known | values)
        return HTMLResponse(content, status, {"Cache-Control": "no-store"})

    def _rendered(self, template: str, values: dict[str, Any]) -> str:
        if self.overrides is not None:
            return self.overrides.render(template, values)
        return self._templates.get_template(template).render(values)
