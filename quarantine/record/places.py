"""Which frames of a traceback lie in the repository, and how their paths are written there."""

import re
from collections.abc import Iterable

from quarantine.record.anatomy import Frame

LIBRARY_FOLDERS = frozenset(
    {
        "site-packages", "dist-packages", "node_modules", "bower_components", "vendor", ".venv", "venv", ".tox", ".nox",
        ".cargo", ".rustup", ".m2", ".gradle", ".nuget", "gems", "Pods", "_pytest", "pluggy", ".pnpm", ".yarn",
    }
)  # fmt: skip
LIBRARY_PATH = re.compile(
    r"(?:^|/)lib(?:64)?/python[0-9][0-9.]*/|(?:^|/)go/(?:pkg/mod|src)/|^/usr/(?!src/|local/src/|home/)|^/rustc/|^/nix/store/"
    r"|^/System/|^/Library/|^(?:node|bun|deno|ext|java\.base|internal):|^internal/|^<|^/_/src/|^async_hooks|^_http_|^timers\.js|(?:^|^testing/)testing\.go$|^_testmain\.go$"
    r"|/(?:Python[0-9.]*|Python\.framework)/.*/?[Ll]ib/"
)
LIBRARY_PACKAGES = re.compile(
    r"(?:java|javax|jdk|sun|jakarta|kotlin|kotlinx|scala|groovy|clojure|android|androidx|dalvik|com\.sun|com\.android"
    r"|junit|org\.(?:junit|testng|hamcrest|assertj|mockito|opentest4j|codehaus|gradle|apache\.maven|springframework|jboss|slf4j)"
    r"|org\.scalatest|io\.kotest|io\.cucumber|net\.bytebuddy|worker\.org\.gradle|com\.google\.common\.truth"
    r"|com\.intellij|System|Microsoft|NUnit|Xunit|FluentAssertions|Moq|Castle)\."
)
DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
ORIGIN = re.compile(r"^(?:file://(?:/(?=[A-Za-z]:))?|webpack(?:-internal)?:/+|https?://[^/]+/)")
PACKAGE_DEPTH = 3


def repository_frames(frames: Iterable[Frame], root: str, test: str) -> tuple[Frame, ...]:
    """Return the frames in the repository, in the order given, each once, with paths as the repository has them.

    Inside are relative paths and those below `root`; when no frame is, absolute paths that no known library or tool
    chain has. Frames that name a class and not a path are inside when they share the package of the class in
    `test`; when none does, if their package is none of a known library.

    Args:
        frames: as the report has them.
        root: absolute prefix of the tested tree; may be empty.
        test: display name of the failing test.
    """
    inside: dict[Frame, None] = {}
    perhaps: dict[Frame, None] = {}
    for frame in frames:
        placed, is_certain = _placed(frame, root, test)
        if placed is not None:
            (inside if is_certain else perhaps)[placed] = None
    return tuple(inside or perhaps)


def _placed(frame: Frame, root: str, test: str) -> tuple[Frame | None, bool]:
    if frame.owner:
        is_own = _package(test) != "" and frame.owner.startswith(_package(test))
        return (frame if is_own or not LIBRARY_PACKAGES.match(frame.owner) else None), is_own
    path, is_certain = repository_path(frame.path, root)
    return (None if path is None else frame._replace(path=path)), is_certain


def _package(test: str) -> str:
    """Return the package of the class that a test's name begins with, at most three parts of it, and a dot."""
    classname = test.partition("::")[0].partition("$")[0]
    parts = classname.split(".")[:-1]
    return ".".join(parts[:PACKAGE_DEPTH]) + "." if parts else ""


def repository_path(path: str, root: str) -> tuple[str | None, bool]:
    """Return the path in the repository, None when it is a library's, and whether it is certainly inside."""
    clean = ORIGIN.sub("", path).split("?")[0]
    if "\\" in clean:
        clean = clean.replace("\\", "/")
        root = root.replace("\\", "/")
    root = root.rstrip("/")
    for prefix in (root, f"/private{root}"):
        if root and clean.startswith(f"{prefix}/"):
            clean = clean[len(prefix) + 1 :]
    clean = clean.removeprefix("./")
    if LIBRARY_PATH.search(clean) or not LIBRARY_FOLDERS.isdisjoint(clean.split("/")[:-1]):
        return None, False
    return clean, not (clean.startswith(("/", "../")) or DRIVE.match(clean))
