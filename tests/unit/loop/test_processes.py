"""Commands that hang, flood, hide and fight back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quarantine.loop.errors import ProcessError
from quarantine.loop.processes import Finished, Limits, run

ENV = {"PATH": os.environ["PATH"]}


def _run(command: str | list[str], folder: Path, **options: object) -> Finished:
    return run(command, cwd=folder, env=ENV, **({"timeout_s": 60.0} | options))  # type: ignore[arg-type]  # as given


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except FileNotFoundError:
        return False


def test_output_input_and_exit_code_come_back(tmp_path: Path) -> None:
    """What it reads, prints and ends with is what was handed over, however much it is."""
    text = b"0123456789abcdef" * 40_000
    done = _run("cat; echo said >&2; exit 3", tmp_path, stdin=text)
    assert (done.exit_code, done.stdout, done.stderr) == (3, text, b"said\n")
    assert not done.killed
    assert done.left_behind == 0


def test_a_command_need_not_read_its_input(tmp_path: Path) -> None:
    """An agent that ignores a long prompt is no error."""
    assert _run("exec <&-; echo ok", tmp_path, stdin=b"x" * 2_000_000).stdout == b"ok\n"


def test_only_the_given_variables_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this process's environment leaks, but for one mark that says nothing."""
    monkeypatch.setenv("QUARANTINE_TOKEN", "secret")
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    seen = json.loads(_run([sys.executable, "-I", "-c", code], tmp_path).stdout)
    assert seen.keys() - {"LC_CTYPE"} == {"PATH", "RUN_MARK"}


def test_no_descriptor_of_the_supervisor_is_passed_on(tmp_path: Path) -> None:
    """The command holds its three streams only: it can neither end the run for us nor write the report."""
    code = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
    seen = json.loads(_run([sys.executable, "-I", "-c", code], tmp_path).stdout)
    assert seen == [0, 1, 2, 3]  # the last is the listing itself


def test_a_hanging_command_is_killed_with_its_children(tmp_path: Path) -> None:
    """When its time is up nothing of it runs on, and what it had said is kept."""
    done = _run("sleep 600 & echo $! $$; wait", tmp_path, timeout_s=0.4)
    assert done.timed_out
    assert done.exit_code == -9
    assert not any(_is_running(int(pid)) for pid in done.stdout.split())


def test_what_hides_in_other_sessions_is_found(tmp_path: Path) -> None:
    """A daemon in a session of its own, with an empty environment, is killed when the command ends."""
    command = "setsid sh -c 'env -i setsid sleep 600 >/dev/null 2>&1 & echo $! > pid' ; exit 7"
    done = _run(command, tmp_path)
    assert done.exit_code == 7
    assert done.left_behind == 1
    assert not _is_running(int((tmp_path / "pid").read_text()))


def test_a_process_that_keeps_the_output_open_does_not_keep_us_waiting(tmp_path: Path) -> None:
    """The end is when the command ends, not when the last holder of its output does."""
    done = _run("sleep 600 & exit 0", tmp_path)
    assert done.seconds < 30
    assert done.left_behind == 1


def test_killing_the_supervisor_is_told_and_gains_nothing(tmp_path: Path) -> None:
    """Whoever kills what watches over it is known for it, and is killed all the same."""
    done = _run("setsid sleep 600 & echo $! $$; kill -9 $PPID; sleep 600", tmp_path)
    assert done.lost
    assert done.killed
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2
    for pid in pids:
        assert not _is_running(pid)


def test_a_flood_is_cut_in_the_middle_or_ended(tmp_path: Path) -> None:
    """The beginning and the end of long output are kept, with how much is missing; an agent's flood is ended."""
    done = _run("echo begin; seq 1 20000; echo end", tmp_path, max_output_bytes=1_000)
    assert done.stdout.startswith(b"begin\n1\n")
    assert done.stdout.endswith(b"20000\nend\n")
    assert f"[... {done.stdout_bytes - 1_000} bytes left out ...]".encode() in done.stdout
    ended = _run("yes", tmp_path, max_output_bytes=1_000, kill_on_flood=True)
    assert ended.flooded
    assert ended.exit_code == -9


def test_limits_hold_for_what_is_run(tmp_path: Path) -> None:
    """A limit on memory makes an allocation fail instead of taking the machine down."""
    code = "x = bytearray(10**9)"
    done = _run([sys.executable, "-I", "-c", code], tmp_path, limits=Limits(memory_bytes=300_000_000))
    assert b"MemoryError" in done.stderr


def test_a_signal_is_told_as_one(tmp_path: Path) -> None:
    """A command that is killed by another's hand has that signal as its end."""
    assert _run("kill -SEGV $$", tmp_path).exit_code == -11


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    """A program or a folder that is not there is no result of a run."""
    with pytest.raises(ProcessError, match="no-such-program cannot be run: No such file"):
        _run([str(tmp_path / "no-such-program")], tmp_path)
    with pytest.raises(ProcessError, match="cannot be run in"):
        _run("true", tmp_path / "nowhere")


def test_the_death_of_the_harness_ends_the_run(tmp_path: Path) -> None:
    """A harness killed with -9 leaves no command running behind it."""
    code = (
        "import os, signal, threading\nfrom pathlib import Path\nfrom quarantine.loop.processes import run\n"
        "def die():\n"
        "    Path('begun').read_text()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=die).start()\n"
        "run('exec 9>held; setsid sleep 600 & echo > begun; wait', cwd=Path(), env=dict(os.environ), timeout_s=60)\n"
    )
    for pipe in ("begun", "held"):
        os.mkfifo(tmp_path / pipe)
    environment = ENV | {"PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environment) as harness:
        assert (tmp_path / "held").read_bytes() == b""  # which ends when the last process that holds it has
    assert harness.returncode == -9
