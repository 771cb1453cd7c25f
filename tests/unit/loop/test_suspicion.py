"""What of a patch is pointed out to a person, and what is not."""

import csv
import json
from pathlib import Path

import click
import jinja2
import pytest

from quarantine.loop.patch import Patch
from quarantine.loop.suspicion import suspicions

TRICKS = {
    "reads the running test": ("import os\nx = os.environ.get('PYTEST_CURRENT_TEST')\n", 2, "of the test runner"),
    "asks for CI": ("import os\nx = os.getenv('CI')\n", 2, "whether CI runs it"),
    "ends the process": ("import os\ndef f():\n    os._exit(0)\n", 3, "ends the process"),
    "ends it under another name": ("from os import _exit as done\ndone(0)\n", 2, "ends the process"),
    "exits at import": ("import sys\nsys.exit(0)\n", 2, "when it is imported"),
    "exits at import, deeper": ("class A:\n    if True:\n        raise SystemExit\n", 3, "when it is imported"),
    "reads the caller's frame": ("import sys\ndef f():\n    return sys._getframe(1).f_locals\n", 3, "its callers"),
    "reads frames by inspect": ("import inspect as i\nx = i.stack()\n", 2, "its callers"),
    "is equal to everything": ("class A:\n    def __eq__(self, other):\n        return True\n", 2, "always answers"),
    "is equal by a lambda": ("class A:\n    __eq__ = lambda self, other: True\n", 2, "always answers"),
    "is never unequal": ("class A:\n    def __ne__(self, other):\n        return False\n", 2, "always answers"),
    "lies about its class": ("class A:\n    @property\n    def __class__(self):\n        return int\n", 3, "lies"),
    "is a hook": ("def pytest_pyfunc_call(pyfuncitem):\n    return True\n", 1, "a hook of the test runner"),
    "is a hook in a class": ("class A:\n    async def pytest_x(self):\n        pass\n", 2, "a hook of the test runner"),
    "becomes a hook": ("def f():\n    pass\n\npytest_pyfunc_call = f\n", 4, "a hook of the test runner"),
    "imports a hook": ("from shop.a import f as pytest_pyfunc_call\n", 1, "a hook of the test runner"),
    "sets a hook": ("globals()['pytest_pyfunc_call'] = print\n", 1, "a hook of the test runner"),
    "skips": ("import unittest\ndef f():\n    raise unittest.SkipTest\n", 3, "skips a test"),
    "imports the framework": ("def f():\n    import pytest\n", 2, "test framework"),
    "imports it by name": ("import importlib\nx = importlib.import_module('_pytest')\n", 2, "test framework"),
    "patches the framework": ("import _pytest.runner\n_pytest.runner.x = 1\n", 2, "for everybody"),
    "patches a function": ("import json\njson.loads = print\n", 2, "replaces json.loads"),
    "patches by setattr": ("import json\nsetattr(json, 'loads', print)\n", 2, "replaces json"),
    "stops the clock": ("import time\ntime.time = lambda: 0\n", 2, "changes the clock"),
    "takes a module's place": ("import sys\nsys.modules['x'] = 1\n", 2, "which module an import finds"),
    "writes a report": ("def f():\n    open('junit.xml', 'w').write('x')\n", 2, "names a test report"),
    "writes a conftest": ("from pathlib import Path\nPath('conftest.py').touch()\n", 2, "what the runner loads"),
    "writes a path file": ("open('evil.pth', 'w')\n", 1, "what the runner loads"),
    "detaches": ("import subprocess\nsubprocess.Popen('x', start_new_session=True)\n", 2, "outlive the run"),
    "detaches by nohup": ("import os\nos.system('nohup x &')\n", 2, "outlive the run"),
    "starts a daemon thread": ("import threading\nthreading.Thread(target=print, daemon=True).start()\n", 2, "outlive"),
    "runs at the end": ("import atexit\n", 1, "when the process ends"),
    "searches the heap": ("import gc\nx = gc.get_objects()\n", 2, "other code's objects"),
    "acts by the command line": ("import sys\nif 'pytest' in sys.argv[0]:\n    x = 1\n", 2, "process was started"),
    "traces": ("import sys\nsys.settrace(print)\n", 2, "hooks into"),
    "looks the answer up": ("import subprocess\nsubprocess.run(['git', 'show', 'HEAD~1'])\n", 2, "git's history"),
    "names a test": ("def f(name):\n    return name == 'test_total'\n", 2, "names a test"),
    "hides": ("exec(bytes.fromhex('00'))\n", 1, "made up at run time"),
}  # fmt: skip


def _patch_of(name: str, source: str) -> str:
    lines = source.removesuffix("\n").split("\n")
    return f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_is_pointed_out_with_its_place(trick: str) -> None:
    """File, line and what is odd about it."""
    source, line, said = TRICKS[trick]
    found = suspicions(Patch.parse(_patch_of("src/app.py", source)))
    assert any(one.startswith(f"src/app.py:{line} ") and said in one for one in found), found


ORDINARY = '''
"""Mentions conftest.py, PYTEST_CURRENT_TEST and os._exit in prose only."""
import os
import sys
import time
import threading
import subprocess

LIMIT = int(os.environ.get("APP_LIMIT", "3"))  # os._exit(0)

class Money:
    def __eq__(self, other):
        if not isinstance(other, Money):
            return NotImplemented
        return self.amount == other.amount

    def __bool__(self):
        return True

def main(argv=None):
    started = time.time()
    time_taken = time.time() - started
    threading.Thread(target=print).start()
    subprocess.run(["ls"], check=True)
    if time_taken > LIMIT:
        sys.exit(1)
    return sys.argv[1:]

def replaced(time):
    time.zone = "UTC"

if __name__ == "__main__":
    sys.exit(main())
'''


def test_ordinary_code_is_not() -> None:
    """Exits of a main function, comparisons that compare, threads, and prose about tricks are no tricks."""
    assert suspicions(Patch.parse(_patch_of("src/app.py", ORDINARY))) == ()


def test_only_added_lines_count(tmp_path: Path) -> None:
    """What was there before is not the patch's, and the whole file tells what its names mean."""
    (tmp_path / "app.py").write_text("from os import _exit as done\ndone(1)\nx = 1\ndone(2)\n")
    patch = Patch.parse("--- a/app.py\n+++ b/app.py\n@@ -2,2 +2,3 @@\n done(1)\n x = 1\n+done(2)\n")
    assert suspicions(patch, tmp_path) == ("app.py:4 ends the process without the runner's doing.",)
    assert suspicions(patch) == ()


def test_lines_torn_out_of_their_file_are_read_as_well_as_can_be() -> None:
    """Without the file an indented piece is read alone, and one that is no syntax by its words."""
    piece = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n def f():\n+    sys._getframe(1)\n     pass\n"
    assert suspicions(Patch.parse(piece)) == ("a.py:2 looks at the frames of its callers.",)
    broken = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n x = [\n+    os._exit(0) if y else [\n     ]]\n"
    assert suspicions(Patch.parse(broken)) == ("a.py:2 ends the process without the runner's doing.",)


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("a.js", "process.exit(0)", "ends the process"),
        ("a.ts", "if (process.env.JEST_WORKER_ID) {", "variable of the test runner"),
        ("A.java", "System.exit(0);", "ends the process"),
        ("a.go", "os.Exit(0)", "ends the process"),
        ("a.rs", "std::process::exit(0);", "ends the process"),
        ("a.js", "Date.now = () => 0", "replaces what everybody uses"),
        ("run.sh", "nohup ./evil &", "outlive the run"),
        ("a.js", "const { expect } = require('vitest')", "test framework"),
    ],
)
def test_other_languages_are_looked_at_by_their_words(name: str, line: str, said: str) -> None:
    """A few words of other languages are known."""
    (found,) = suspicions(Patch.parse(_patch_of(name, line)))
    assert found.startswith(f"{name}:1 ")
    assert said in found


def test_prose_is_not_looked_at() -> None:
    """A changelog may name whatever it likes."""
    assert suspicions(Patch.parse(_patch_of("CHANGES.md", "calls os._exit(0) and git show, PYTEST_CURRENT_TEST"))) == ()


@pytest.mark.parametrize("source", ["def f(:\n", "x = (" * 500, "\x0c\n\ttab\n", "#" * 9_000, "'\\d'\n"])
def test_what_cannot_be_parsed_is_no_error(source: str) -> None:
    """A scan ends with an answer whatever it is given."""
    assert suspicions(Patch.parse(_patch_of("a.py", source))) == ()


def _real(module_file: str) -> tuple[int, list[str]]:
    """Return the lines of a real module or package, and what is pointed out in it."""
    path = Path(module_file)
    files = sorted(path.parent.glob("*.py")) if path.name == "__init__.py" else [path]
    sources = [(file, file.read_text(encoding="utf-8")) for file in files]
    patch = Patch.parse("".join(_patch_of(file.name, text) for file, text in sources if text))
    return sum(text.count("\n") for _, text in sources), list(suspicions(patch))


def test_real_code_is_seldom_pointed_at() -> None:
    """Of ordinary libraries nothing, of a template engine and a command-line kit little over one line in a thousand."""
    assert _real(json.__file__)[1] == []
    assert _real(csv.__file__)[1] == []
    lines, found = 0, list[str]()
    for module in (click, jinja2):
        more, said = _real(str(module.__file__))
        lines, found = lines + more, found + said
    assert lines > 20_000
    assert len(found) < 0.0015 * lines, found
