"""Commands and scripts as agents: what they see, what becomes of what they do."""

import os
import re
import sys
from pathlib import Path

import pytest

from quarantine.client.errors import ClientConfigurationError
from quarantine.loop.agent import CommandAgent, Mode, Proposal, ScriptedAgent
from quarantine.loop.errors import ProcessError
from quarantine.loop.workspace import Workspace
from tests.cli.repository import Repository

EDIT = "sed -i s/number/value/ src/app.py"
DIFF = "--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-exit 0\n+exit 1\n"
PRINT = f"cat <<'END'\n{DIFF}END\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of a base as an agent gets it, made cheaply."""
    made = Repository.of(
        tmp_path / "copy",
        {
            "src/app.py": "def double(number):\n    return number + number\n",
            "run.sh": "#!/bin/sh\nexit 0\n",
            ".gitignore": "*.log\nbuild/\n",
            "sub/.gitignore": "*.tmp\n",
        },
    )
    made.write({"kept.log": ""})
    made.git("add", "--force", "kept.log")
    made.git("commit", "-qm", "tracked though ignored")
    return made.path


def _ask(command: str, folder: Path, *, mode: Mode = "auto", timeout_s: float = 60.0) -> Proposal:
    return CommandAgent(command, mode=mode, timeout_s=timeout_s).propose("Mend it.", folder)


def _paths(proposal: Proposal) -> tuple[str, ...]:
    assert proposal.patch is not None, proposal.problem
    assert proposal.problem is None
    return proposal.patch.paths


def _code(proposal: Proposal) -> str:
    assert proposal.problem is not None
    assert proposal.patch is None
    return proposal.problem.code


def test_the_prompt_is_on_standard_input(folder: Path) -> None:
    """What the agent reads is the prompt and then the end."""
    agent = CommandAgent([sys.executable, "-c", "import sys; open('said', 'w').write(sys.stdin.read())"])
    assert _paths(agent.propose("Tïcket\n", folder)) == ("said",)
    assert (folder / "said").read_text() == "Tïcket\n"


def test_a_diff_or_edits_are_the_answer(folder: Path) -> None:
    """A printed diff wins, edits are taken without one, and what is said beside a diff does not matter."""
    assert _paths(_ask(PRINT, folder)) == ("run.sh",)
    assert _paths(_ask(f"echo Here:; {PRINT}", folder)) == ("run.sh",)
    assert _paths(_ask(f"echo I edited it; {EDIT}", folder)) == ("src/app.py",)


def test_both_at_once_is_said(folder: Path) -> None:
    """A diff that disagrees with the edits is taken, and a person is told."""
    both = _ask(f"{EDIT}; {PRINT}", folder)
    assert _paths(both) == ("run.sh",)
    assert "edits in the folder differ" in both.note


def test_agreeing_with_oneself_is_not(folder: Path) -> None:
    """An agent that edits and prints the same diff has said one thing."""
    assert _ask("sed -i s/0/1/ run.sh; git diff", folder).note == ""


def test_the_mode_says_where_to_look(folder: Path) -> None:
    """With `diff` edits are not looked at; with `edit` what is printed is not."""
    assert _code(_ask(EDIT, folder, mode="diff")) == "empty-patch"
    assert _code(_ask(f"{EDIT}; echo done", folder, mode="diff")) == "prose"
    assert _code(_ask(PRINT, folder, mode="edit")) == "empty-patch"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", "empty-patch"),
        ("echo I cannot do it", "prose"),
        ("exit 3", "agent-failed"),
        ("kill -9 $PPID; sleep 60", "agent-failed"),
        ("ln -s /etc/passwd link", "symlink"),
        ("mkdir new; git -C new init -q; touch new/file", "submodule"),
        ("printf 'a\\000b' > blob.bin", "binary-patch"),
        ("mv ../copy ../other; mkdir ../copy", "escapes-worktree"),
        ("rm -rf ../copy", "escapes-worktree"),
        ("mv ../copy ../other; ln -s / ../copy", "escapes-worktree"),
    ],
)
def test_what_is_no_answer_is_named(folder: Path, command: str, code: str) -> None:
    """Each kind of failure has its own word, and none is a patch."""
    assert _code(_ask(command, folder)) == code


@pytest.mark.parametrize("command", ["no-such-agent --print-diff", "./src/app.py"])
def test_an_agent_that_is_no_command_is_no_agent(folder: Path, command: str) -> None:
    """It is the user's to mend, at once and in the shell's words; asking again would be of no use."""
    with pytest.raises(ProcessError, match=re.escape(command.split(maxsplit=1)[0])):
        _ask(command, folder)


def test_a_slow_or_a_loud_agent_is_ended(folder: Path) -> None:
    """Its time and its output are bounded, and edits of an agent that was killed are not taken."""
    slow = _ask(f"{EDIT}; sleep 600", folder, timeout_s=0.3)
    assert _code(slow) == "agent-timed-out"
    assert "0.3 s" in str(slow.problem)
    assert _code(CommandAgent("yes", max_output_bytes=10_000).propose("", folder)) == "too-big"


def test_what_it_leaves_running_is_killed_and_said(folder: Path) -> None:
    """A process that would rewrite files later does not live to do so."""
    proposal = _ask(f"{EDIT}; setsid sleep 600 &", folder)
    assert _paths(proposal) == ("src/app.py",)
    assert "left 1 process running" in proposal.note


def test_it_sees_no_token_and_no_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the variables named and those the user adds are seen; home and temporary files are its own."""
    for name in ("QUARANTINE_TOKEN", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "MODEL_KEY"):
        monkeypatch.setenv(name, "secret")
    agent = CommandAgent("env > seen; touch $HOME/x $TMPDIR/y", keep_env=["MODEL_KEY"])
    agent.propose("", folder)
    seen = dict(line.split("=", 1) for line in (folder / "seen").read_text().splitlines())
    allowed = {
        "PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TERM",
        "TZ",
        "HOME",
        "TMPDIR",
        "AGENT_USAGE_FILE",
        "PWD",
        "OLDPWD",
    }
    assert seen.keys() - allowed - {"SHLVL", "_", "RUN_MARK"} == {"MODEL_KEY"}
    assert seen["HOME"] != os.environ.get("HOME")
    assert not Path(seen["HOME"]).exists()
    assert not Path(seen["TMPDIR"]).exists()


def test_our_own_variables_cannot_be_kept() -> None:
    """Nobody hands the agent a token of ours by mistake."""
    with pytest.raises(ClientConfigurationError, match="QUARANTINE_TOKEN"):
        CommandAgent("true", keep_env=["QUARANTINE_TOKEN"])


@pytest.mark.parametrize(
    "hiding",
    [
        "git update-index --assume-unchanged src/app.py",
        "git config core.fileMode false; git config diff.external true; git config core.autocrlf true",
        "mkdir -p .git/info; echo '*' > .git/info/exclude; echo '*.py -diff' > .git/info/attributes",
        "git commit -qam done --no-verify --author='a <b>'; git -c user.name=a -c user.email=b commit -qam x; true",
        "rm -rf .git; ln -s / .git",
        "touch -d '2001-01-01' src/app.py",
    ],
)
def test_edits_cannot_be_hidden(folder: Path, hiding: str) -> None:
    """Whatever an agent does to the folder's own git, what it changed is in the patch."""
    assert _paths(_ask(f"{EDIT}; {hiding}; true", folder, mode="edit")) == ("src/app.py",)


def test_attributes_bend_no_diff(folder: Path) -> None:
    """An attribute that calls source binary, or filters it, hides nothing of it."""
    said = "echo '*.py binary filter=x working-tree-encoding=UTF-16' > .gitattributes"
    assert _paths(_ask(f"{EDIT}; {said}", folder)) == (".gitattributes", "src/app.py")


def test_new_ignored_files_are_left_out_by_the_rules_of_the_base(folder: Path) -> None:
    """What a run of the tests leaves is no part of the patch, and is said; changed rules change nothing of that."""
    proposal = _ask(
        f"{EDIT}; mkdir -p build src/__pycache__ node_modules; touch build/x src/__pycache__/a.pyc node_modules/y n.log"
        "; touch sub/a.tmp; echo x > kept.log; echo x > a.tmp; echo '!*' > .gitignore",
        folder,
    )
    assert _paths(proposal) == (".gitignore", "a.tmp", "kept.log", "src/app.py")
    assert "build/x, n.log, sub/a.tmp" in proposal.note


def test_usage_is_taken_if_it_is_sensible(folder: Path) -> None:
    """Tokens and cost come from the agent's own file; nonsense there is nothing."""
    told = CommandAgent("""echo '{"tokens": 1200, "cost": 0.03}' > $AGENT_USAGE_FILE""").propose("", folder)
    assert (told.tokens, told.cost) == (1200, 0.03)
    for nonsense in ('\'{"tokens": -1, "cost": NaN}\'', '\'{"tokens": "x", "cost": [1]}\'', "'[['", "1"):
        told = CommandAgent(f"echo {nonsense} > $AGENT_USAGE_FILE").propose("", folder)
        assert (told.tokens, told.cost) == (None, None)
    linked = CommandAgent("ln -s /dev/zero $AGENT_USAGE_FILE").propose("", folder)
    assert linked.tokens is None


def test_what_it_says_on_stderr_is_kept_for_a_person(folder: Path) -> None:
    """The end of its complaints comes with the proposal, and is no part of the patch."""
    proposal = _ask("seq 1 9000 >&2; echo sorry >&2; exit 1", folder)
    assert proposal.stderr.endswith("9000\nsorry\n")
    assert len(proposal.stderr) == 4_000


def test_nothing_is_left_behind(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Homes with read-only folders, and the repository that compares, are gone afterwards."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    _ask(f"{EDIT}; mkdir -p $HOME/a/b; touch $HOME/a/b/c; chmod -R 000 $HOME/a", folder)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_script_plays_its_answers(folder: Path) -> None:
    """Texts, functions that answer, functions that edit, and nothing when the script has ended."""

    def edits(prompt: str, where: Path) -> None:
        (where / "new.py").write_text(f"# {prompt}\n")

    agent = ScriptedAgent([DIFF, DIFF.encode(), "no idea", lambda prompt, _where: DIFF if prompt else None, edits])
    assert _paths(agent.propose("one", folder)) == ("run.sh",)
    assert _paths(agent.propose("two", folder)) == ("run.sh",)
    assert _code(agent.propose("three", folder)) == "prose"
    assert _paths(agent.propose("four", folder)) == ("run.sh",)
    assert _paths(agent.propose("five", folder)) == ("new.py",)
    assert _code(agent.propose("six", folder)) == "empty-patch"
    assert agent.prompts == ["one", "two", "three", "four", "five", "six"]


def test_edits_in_a_copy_apply_in_the_worktree(repository: Repository, place: Path) -> None:
    """From the agent's folder to the worktree and back: a rename, a mode, a new file and a change."""
    with Workspace.open(repository.path, folder=place) as workspace:
        with workspace.agent_folder() as copy:
            proposal = _ask(
                f"{EDIT}; mv src/pkg/deep/leaf.txt src/moved.txt; chmod +x empty.txt; echo n > new.py", copy
            )
        assert proposal.patch is not None
        workspace.apply(proposal.patch)
        assert "def double(value)" in (workspace.path / "src/app.py").read_text()
        assert (workspace.path / "src/moved.txt").exists()
        assert not (workspace.path / "src/pkg").exists()
        assert (workspace.path / "empty.txt").stat().st_mode & 0o100
        workspace.roll_back(prove=True)


@pytest.mark.parametrize(
    "command",
    [
        "truncate -s 400M big.bin",
        "for n in 1 2 3 4 5; do truncate -s 4M part$n; done",
        "truncate -s 300M src/app.py",
        f"{sys.executable} -c \"import os; [os.close(os.open(f'f{{n}}', os.O_CREAT)) for n in range(10_001)]\"",
    ],
)
def test_edits_that_no_patch_can_hold_are_refused_unread(folder: Path, command: str) -> None:
    """One huge file or many, new or grown: they are measured before one byte of them is read."""
    proposal = _ask(command, folder, mode="edit")
    assert _code(proposal) == "too-big"
    assert proposal.problem is not None
    assert proposal.problem.sentence.startswith("The edits add ")


def test_a_large_file_that_the_base_ignores_is_left_out_unread(folder: Path) -> None:
    """What a build has written beside the edits is no reason to refuse them."""
    (folder / ".gitignore").write_text("out/\n")
    proposal = _ask("mkdir out; truncate -s 500M out/image; echo new > new.txt", folder, mode="edit")
    assert _paths(proposal) == ("new.txt",)
    assert proposal.note == "New files that the base's rules ignore are not in the patch: out/image."
