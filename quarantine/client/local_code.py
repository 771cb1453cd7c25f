"""Where an interpreter finds the code of a repository: in the checkout itself, or in a copy that was installed from it.

A suite that is run again in another folder must import the code that lies there. An editable install points at the
checkout instead; what it points at can be shadowed by the same places of the other folder. A copy in site-packages
cannot be told from the tree it was made of, so nothing that ran with one says anything about another tree.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from quarantine.client.environment import asked

__all__ = ["COPY", "LocalCode", "local_code"]

COPY = (
    "{} is installed as a copy here, so the command would test that and not the tree: install it with --editable, from "
    "this clone."
)
"""Why nothing is run in another folder where there are copies; `{}` is their names."""
_PROBE = """
import importlib.metadata, importlib.util, json, os, sys
from urllib.parse import unquote, urlsplit

def lies_in(path, folder):
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)

top, name = sys.argv[1:]
folders = [path for path in sys.path if path and lies_in(path, top) and not lies_in(path, sys.prefix)]
copies = []
for found in importlib.metadata.distributions():
    called = (found.metadata["Name"] or "?").lower().replace("_", "-").replace(".", "-")
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    source = unquote(urlsplit(origin.get("url", "")).path) if origin.get("url", "").startswith("file:") else ""
    is_local = bool(source) and os.path.isdir(source) and lies_in(source, top)
    if is_local and origin.get("dir_info", {}).get("editable"):
        for module in (found.read_text("top_level.txt") or "").split():
            spec = importlib.util.find_spec(module)
            places = list(spec.submodule_search_locations or [spec.origin or ""]) if spec else []
            folders += [os.path.dirname(place) for place in places if lies_in(place, top)]
        copies += [] if folders else [called]
    elif is_local or called == name:
        copies.append(called)
print(json.dumps([[os.path.realpath(path) for path in dict.fromkeys(folders)], sorted(set(copies))]))
"""


class LocalCode(NamedTuple):
    """What an interpreter would import of a repository.

    Attributes:
        folders: folders below the repository that are on the import path, relative to it, in order.
        copies: distributions that stand for the repository and cannot be shadowed.
    """

    folders: tuple[str, ...]
    copies: tuple[str, ...]

    def import_path(self, tree: Path, inherited: str) -> str:
        """Return a PYTHONPATH by which the same folders of another tree come first."""
        return os.pathsep.join([*(str(tree / folder) for folder in self.folders), *filter(None, [inherited])])

    def environment(self, tree: Path, variables: Mapping[str, str]) -> dict[str, str]:
        """Return these variables with such a PYTHONPATH; as they are where there is nothing to shadow."""
        if not self.folders:
            return dict(variables)
        return {**variables, "PYTHONPATH": self.import_path(tree, variables.get("PYTHONPATH", ""))}


def local_code(repository: Path, python: str) -> LocalCode:
    """Ask an interpreter what it would import of a repository; raises ClientConfigurationError when it cannot say.

    Whatever distribution has the project's own name (of pyproject.toml) counts as a copy, unless it is editable here.
    """
    top = Path(os.path.realpath(repository))
    folders, copies = asked(python, "-c", _PROBE, str(top), _project_name(top), what="where it imports from", answers=2)
    return LocalCode(tuple(os.path.relpath(folder, top) for folder in folders), tuple(copies))


def _project_name(top: Path) -> str:
    """Return the name in pyproject.toml, spelled as installers compare it; empty when there is none."""
    try:
        project = tomllib.loads((top / "pyproject.toml").read_text(encoding="utf-8"))
        name = project.get("project", {}).get("name") or project.get("tool", {}).get("poetry", {}).get("name")
    except (OSError, ValueError, AttributeError):
        return ""
    return name.lower().replace("_", "-").replace(".", "-") if isinstance(name, str) else ""
