"""What in a piece of Python touches how tests are run and not what they test. Names are followed through imports."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Suspect", "suspects"]


class Suspect(NamedTuple):
    """A line, from 1, and what is odd about it, as the end of a sentence that begins with the line."""

    line: int
    what: str


_FRAMEWORK = "uses the test framework in product code"
_FRAMES = "looks at the frames of its callers"
_EXIT = "ends the process without the runner's doing"
_OUTLIVES = "starts what can outlive the run"
_LATER = "runs code when the process ends"
_HEAP = "searches other code's objects"
_TRACE = "hooks into the interpreter"
_HIDDEN = "runs code that is made up at run time"
_SKIP = "skips a test"
_HOOK = "has the name of a hook of the test runner"

_MODULES = {
    **dict.fromkeys(
        ("pytest", "_pytest", "unittest", "pluggy", "nose", "nose2", "coverage", "xdist", "hypothesis", "mock"),
        _FRAMEWORK,
    ),
    **dict.fromkeys(("freezegun", "time_machine"), "changes the clock"),
    **dict.fromkeys(("atexit",), _LATER),
    **dict.fromkeys(("sitecustomize", "usercustomize"), "touches what every interpreter loads"),
}
"""Modules that are suspect by being imported."""
_NAMES = {
    **dict.fromkeys(("sys._getframe", "sys._current_frames", "sys._getframemodulename"), _FRAMES),
    **dict.fromkeys(("inspect.stack", "inspect.currentframe", "inspect.getouterframes", "inspect.trace"), _FRAMES),
    **dict.fromkeys(("traceback.walk_stack", "traceback.extract_stack"), _FRAMES),
    **dict.fromkeys(
        ("os._exit", "os.abort", "os.kill", "os.killpg", "signal.raise_signal", "os.execv", "os.execve"), _EXIT
    ),
    **dict.fromkeys(("os.setsid", "os.setpgrp", "os.setpgid", "os.fork", "os.forkpty", "os.posix_spawn"), _OUTLIVES),
    **dict.fromkeys(("subprocess.DETACHED_PROCESS", "subprocess.CREATE_NEW_PROCESS_GROUP"), _OUTLIVES),
    **dict.fromkeys(("gc.get_objects", "gc.get_referrers", "gc.get_referents"), _HEAP),
    **dict.fromkeys(
        ("sys.settrace", "sys.setprofile", "sys.addaudithook", "sys.monitoring", "threading.settrace"), _TRACE
    ),
    **dict.fromkeys(
        ("sys.meta_path", "sys.path_hooks", "sys.excepthook", "sys.unraisablehook", "site.addsitedir"), _TRACE
    ),
    **dict.fromkeys(("signal.alarm", "signal.setitimer"), _TRACE),
    **dict.fromkeys(("exec", "eval", "builtins.exec", "builtins.eval", "types.CodeType", "marshal.loads"), _HIDDEN),
    "__builtins__": "reaches for the built-in names",
    "os.getppid": "looks for the process that runs it",
}
_ATTRIBUTES = {"f_back": _FRAMES, "f_locals": _FRAMES, "tb_frame": _FRAMES, "gi_frame": _FRAMES, "__code__": _TRACE}
_SKIPPING = re.compile(r"(^|\.)(SkipTest|skipTest|importorskip)$")
_TEXTS = (
    (
        re.compile(r"PYTEST_|COV_CORE_|COVERAGE_|QUARANTINE_|TOX_ENV|RUN_MARK|NOSE_"),
        "names a variable of the test runner",
    ),
    (
        re.compile(r"^(CI|GITHUB_ACTIONS|GITLAB_CI|JENKINS_URL|BUILDKITE|CIRCLECI|TRAVIS|TF_BUILD)$"),
        "asks whether CI runs it",
    ),
    (re.compile(r"<testsuite|<testcase|junit[-_.]?xml|\bjunit\b"), "names a test report"),
    (re.compile(r"\b(nohup|setsid|disown)\b"), _OUTLIVES),
    (
        re.compile(r"\bconftest\b|\bsitecustomize\b|\busercustomize\b|\.pth\b|\bpytest\.ini\b"),
        "names what the runner loads",
    ),
    (re.compile(r"(^|[/.:])test_\w+(\.py)?(::|$)|::test_"), "names a test"),
    (re.compile(r"\bgit (show|log|stash|reflog|cat-file|rev-list)\b|(^|/)\.git(/|$)"), "looks into git's history"),
    (re.compile(r"^_?pytest$"), _FRAMEWORK),
    (re.compile(r"^pytest_\w+$"), _HOOK),
)
_COMPARISONS = frozenset(
    {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__instancecheck__"}
)
_CLOCK = re.compile(r"^(time|datetime)\.")
_DETACHING = frozenset({"daemon", "start_new_session", "preexec_fn", "process_group"})


def suspects(tree: ast.Module) -> Iterator[Suspect]:
    """Yield what is suspect in a module, in no order; a line may come more than once."""
    nodes = list(ast.walk(tree))
    aliases = _aliases(nodes)
    bound = _bound(nodes)
    modules = {name: meaning for name, meaning in aliases.items() if name not in bound}
    prose = _docstrings(nodes)
    for node in nodes:
        yield from _imports(node)
        yield from _named(node, aliases)
        yield from _assigned(node, modules)
        yield from _called(node, aliases)
        yield from _defined(node)
        yield from _asked(node, aliases)
        yield from _hooks(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            yield from (Suspect(node.lineno, what) for pattern, what in _TEXTS if pattern.search(node.value))
    yield from _import_time_exits(tree.body, aliases)


def _aliases(nodes: list[ast.AST]) -> dict[str, str]:
    """Return what each imported name stands for."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                found[name.asname or name.name.partition(".")[0]] = (
                    name.name if name.asname else name.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    return found


def _bound(nodes: list[ast.AST]) -> set[str]:
    """Return the names that something else than an import gives a meaning to, somewhere in the module."""
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _docstrings(nodes: list[ast.AST]) -> set[ast.Constant]:
    """Return the strings that are statements of their own."""
    return {node.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}


def _dotted(node: ast.AST, aliases: dict[str, str]) -> str:
    """Return the full name that an expression spells; empty when it is none."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([aliases.get(node.id, node.id), *reversed(steps)])


def _imports(node: ast.AST) -> Iterator[Suspect]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [name.name for name in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [node.module or ""]
    for name in names:
        what = _MODULES.get(name.partition(".")[0])
        if what is not None and isinstance(node, ast.stmt):
            yield Suspect(node.lineno, what)


def _named(node: ast.AST, aliases: dict[str, str]) -> Iterator[Suspect]:
    if isinstance(node, (ast.Attribute, ast.Name)):
        name = _dotted(node, aliases)
        if name in _NAMES:
            yield Suspect(node.lineno, _NAMES[name])
        elif _SKIPPING.search(name):
            yield Suspect(node.lineno, _SKIP)
    if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
        yield Suspect(node.lineno, _ATTRIBUTES[node.attr])


def _assigned(node: ast.AST, aliases: dict[str, str]) -> Iterator[Suspect]:
    """Yield changes of other modules: of what they define, and of the table of modules itself."""
    targets: list[ast.expr] = []
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    elif isinstance(node, ast.Call) and _dotted(node.func, aliases) in {"setattr", "delattr"} and node.args:
        targets = [ast.Attribute(node.args[0], "?", lineno=node.lineno)]
    for target in targets:
        line = getattr(target, "lineno", 0)
        if isinstance(target, ast.Subscript) and _dotted(target.value, aliases) in {"sys.modules", "builtins.__dict__"}:
            yield Suspect(line, "changes which module an import finds")
        elif isinstance(target, ast.Attribute) and isinstance(target.value, (ast.Name, ast.Attribute)):
            yield from _replaced(target, line, aliases)


def _replaced(target: ast.Attribute, line: int, aliases: dict[str, str]) -> Iterator[Suspect]:
    first: ast.expr = target
    while isinstance(first, ast.Attribute):
        first = first.value
    if target.attr == "daemon":
        yield Suspect(line, _OUTLIVES)
    if isinstance(first, ast.Name) and first.id in aliases:
        name = _dotted(target, aliases)
        yield Suspect(
            line, "changes the clock" if _CLOCK.match(name) else f"replaces {name.replace('.?', '')} for everybody"
        )


def _called(node: ast.AST, aliases: dict[str, str]) -> Iterator[Suspect]:
    if not isinstance(node, ast.Call):
        return
    name = _dotted(node.func, aliases)
    for keyword in node.keywords:
        constant = keyword.value.value if isinstance(keyword.value, ast.Constant) else True
        if keyword.arg in _DETACHING and constant not in {False, None}:
            yield Suspect(node.lineno, _OUTLIVES)
    if name.startswith("sys.modules.") and name.rpartition(".")[2] in {"pop", "setdefault", "update", "clear"}:
        yield Suspect(node.lineno, "changes which module an import finds")
    if name in {"sys.modules.values", "sys.modules.items"}:
        yield Suspect(node.lineno, _HEAP)
    words = [arg for arg in (node.args[:1] or []) if isinstance(arg, (ast.List, ast.Tuple)) and arg.elts]
    for word in words:
        first = word.elts[0]
        if isinstance(first, ast.Constant) and first.value == "git":
            yield Suspect(node.lineno, "looks into git's history")


def _defined(node: ast.AST) -> Iterator[Suspect]:
    """Yield comparisons that always answer the same, and values that lie about their class."""
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            for name, value in _members(part):
                if name in _COMPARISONS and _is_constant(value):
                    yield Suspect(part.lineno, f"defines {name} so that it always answers the same")
                elif name == "__class__":
                    yield Suspect(part.lineno, "lies about its class")


def _members(part: ast.stmt) -> Iterator[tuple[str, list[ast.expr | None]]]:
    """Yield the name that a statement of a class defines, with what it can return."""
    if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield part.name, [node.value for node in ast.walk(part) if isinstance(node, ast.Return)]
    elif isinstance(part, ast.Assign):
        returned: list[ast.expr | None] = [part.value.body] if isinstance(part.value, ast.Lambda) else []
        yield from ((target.id, returned) for target in part.targets if isinstance(target, ast.Name))


def _hooks(node: ast.AST) -> Iterator[Suspect]:
    """Yield what is given a name that pytest calls when it takes the module or the object for a plugin."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        line, name = node.lineno, node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        line, name = node.lineno, node.id
    elif isinstance(node, ast.alias):
        line, name = node.lineno, node.asname or node.name
    else:
        return
    if name.startswith("pytest_"):
        yield Suspect(line, _HOOK)


def _is_constant(returned: list[ast.expr | None]) -> bool:
    """Whether all of what is returned is one and the same truth value."""
    values = [one.value if isinstance(one, ast.Constant) else None for one in returned]
    return bool(values) and all(value is values[0] and isinstance(value, bool) for value in values)


def _asked(node: ast.AST, aliases: dict[str, str]) -> Iterator[Suspect]:
    """Yield conditions on how the process was started."""
    if isinstance(node, (ast.Compare, ast.BoolOp, ast.If, ast.IfExp, ast.While)):
        asked = node.test if isinstance(node, (ast.If, ast.IfExp, ast.While)) else node
        for part in ast.walk(asked):
            if isinstance(part, ast.Attribute) and _dotted(part, aliases) in {"sys.argv", "sys.orig_argv"}:
                yield Suspect(part.lineno, "acts by how the process was started")


def _import_time_exits(body: list[ast.stmt], aliases: dict[str, str]) -> Iterator[Suspect]:
    """Yield exits that happen when the module is imported: outside functions and of `if __name__ == ...`."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) or _is_main_guard(statement):
            continue
        for node in _at_import(statement):
            name = _dotted(node.func if isinstance(node, ast.Call) else node, aliases)
            if name in {"sys.exit", "exit", "quit", "SystemExit"} and isinstance(node, (ast.Call, ast.Name)):
                yield Suspect(node.lineno, "ends the process when it is imported")


def _is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and any(
        isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test)
    )


def _at_import(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement that run when it does: not the bodies of functions in it."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
