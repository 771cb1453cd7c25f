"""Which files of a project a Python file imports, found by reading, not by running.

The answer errs on the side of too many: an import counts wherever it stands (in a function, under a condition, under
TYPE_CHECKING), an imported name counts as a module too where there is one of that name, and a text that spells the
dotted name of a module of the project counts as importing it, because that is how plug-ins, settings and patches name
modules. A file brings the `__init__.py` of every package it lies in. What is missed: names put together while running.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping

from quarantine.client.parts import is_python, parse_python

__all__ = ["ImportGraph"]

_NATIVE = (".so", ".pyd", ".pyx")
_INIT = "__init__"
_LOADERS = frozenset({"import_module", "__import__", "importorskip", "run_module", "reload"})


class ImportGraph:
    """The import relation between the files of one tree.

    Args:
        sources: the Python files by path from the root, with `/`; None stands for source that cannot be parsed, which
            imports nothing we can see.
        others: paths of further files; compiled modules among them can be imported.
    """

    def __init__(self, sources: Mapping[str, ast.Module | None], others: Iterable[str] = ()) -> None:
        self._sources = sources
        self._packages = {_folder(path) for path in sources if _stem(path) == _INIT}
        self._by_name: dict[str, set[str]] = {}
        for path in [*sources, *(path for path in others if path.endswith(_NATIVE))]:
            for name in self._names(path):
                self._by_name.setdefault(name, set()).add(path)
        self._imports: dict[str, frozenset[str]] = {}
        self._closures: dict[str, frozenset[str]] = {}

    @classmethod
    def of_files(cls, contents: Mapping[str, bytes]) -> "ImportGraph":
        """Return the graph of files by content; those that are not Python may be listed too."""
        sources = {path: parse_python(content) for path, content in contents.items() if is_python(path)}
        return cls(sources, [path for path in contents if path not in sources])

    def imports(self, path: str) -> frozenset[str]:
        """Return the files that importing one file may load directly; empty for files that are not Python."""
        if path not in self._imports:
            module = self._sources.get(path)
            found = set(self._own_packages(path))
            if module is not None:
                found.update(target for node in ast.walk(module) for target in self._targets(path, node))
            self._imports[path] = frozenset(found - {path})
        return self._imports[path]

    def closure(self, path: str) -> frozenset[str]:
        """Return the file itself and all files that importing it may load, directly or not."""
        if path not in self._closures:
            seen = {path}
            waiting = [path]
            while waiting:
                fresh = self.imports(waiting.pop()) - seen
                seen |= fresh
                waiting.extend(fresh)
            self._closures[path] = frozenset(seen)
        return self._closures[path]

    def _names(self, path: str) -> Iterator[str]:
        """Yield the dotted names a file may be imported by: from each folder above it that is no package."""
        folders = _folder(path).split("/") if "/" in path else []
        stem = _stem(path)
        tail = folders if stem == _INIT else [*folders, stem]
        for depth in range(len(tail)):
            if "/".join(folders[:depth]) not in self._packages or depth == 0:
                yield ".".join(tail[depth:])

    def _own_packages(self, path: str) -> Iterator[str]:
        folder = _folder(path)
        while folder in self._packages:
            yield from self._files_in(folder, _INIT)
            if "/" not in folder:
                return
            folder = _folder(folder)

    def _files_in(self, folder: str, stem: str) -> Iterator[str]:
        for ending in (".py", ".pyw"):
            path = f"{folder}/{stem}{ending}" if folder else f"{stem}{ending}"
            if path in self._sources:
                yield path

    def _targets(self, path: str, node: ast.AST) -> Iterator[str]:
        """Yield the files one node of a file's syntax tree may import."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._absolute(path, alias.name)
        elif isinstance(node, ast.ImportFrom):
            names = ["", *(alias.name for alias in node.names if alias.name != "*")]
            for name in names:
                yield from self._from(path, node.level, ".".join(filter(None, [node.module or "", name])))
        elif isinstance(node, ast.Call) and _called(node) in _LOADERS:
            yield from self._loaded(path, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from self._spelled(node.value)

    def _from(self, path: str, level: int, name: str) -> Iterator[str]:
        if not level:
            yield from self._absolute(path, name)
            return
        folder = _folder(path)
        for _ in range(level - 1):
            folder = _folder(folder)
        yield from self._below(folder, name.split(".") if name else [])

    def _absolute(self, path: str, name: str) -> Iterator[str]:
        """Yield the files of every prefix of a dotted name; failing all, a neighbour that a script would find."""
        pieces = name.split(".")
        prefixes = [".".join(pieces[: end + 1]) for end in range(len(pieces))]
        found = [target for prefix in prefixes for target in self._by_name.get(prefix, ())]
        yield from found
        if not found:
            yield from self._below(_folder(path), pieces)

    def _below(self, folder: str, pieces: list[str]) -> Iterator[str]:
        """Yield the files that a dotted name, counted from a folder, passes through."""
        yield from self._files_in(folder, _INIT)
        for piece in pieces:
            yield from self._files_in(folder, piece)
            folder = f"{folder}/{piece}" if folder else piece
            yield from self._files_in(folder, _INIT)

    def _loaded(self, path: str, call: ast.Call) -> Iterator[str]:
        for argument in call.args[:1]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                name = argument.value.lstrip(".")
                yield from self._from(path, len(argument.value) - len(name), name)

    def _spelled(self, text: str) -> Iterator[str]:
        """Yield the files of the longest dotted prefix of a text that names a module of the project."""
        pieces = text.partition(":")[0].split(".")
        if not all(map(str.isidentifier, pieces)):
            return
        for end in range(len(pieces), 1, -1):
            targets = self._by_name.get(".".join(pieces[:end]))
            if targets:
                yield from targets
                return


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _stem(path: str) -> str:
    """Return a file's name up to the first dot: compiled modules carry the platform behind it."""
    return path.rpartition("/")[2].partition(".")[0]


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
