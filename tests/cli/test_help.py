"""What the command line says of itself, and the exit codes of wrong usage."""

from pathlib import Path

import pytest

from quarantine.cli.group import VERBS
from tests.cli.shell import Shell

HELP = Path(__file__).with_name("help.txt")
DEEPER = {
    "reruns": ("list", "run"),
    "reach": ("add", "manifest"),
    "slack": ("test", "parked", "fake"),
    "mail": ("test",),
    "project": ("create", "list"),
    "token": ("create", "list", "revoke"),
    "db": ("upgrade", "check"),
}


def test_the_help_is_the_one_that_was_agreed(shell: Shell) -> None:
    """A verb that comes, goes or is described anew shows in a diff of tests/cli/help.txt."""
    assert shell.run("--help").out == HELP.read_text(encoding="utf-8")
    assert shell.run("-h").out == HELP.read_text(encoding="utf-8")


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_explains_itself(shell: Shell, verb: str) -> None:
    """Its help says more than the list does, and wrong usage of it is exit code 2 with a word on stderr."""
    told = shell.run(verb, "--help").out
    assert told.startswith(f"Usage: quarantine {verb}")
    assert "-h, --help" in told
    wrong = shell.run(verb, "--no-such-option", code=2)
    assert wrong.out == ""
    assert "no-such-option" in wrong.err
    for word in DEEPER.get(verb, ()):
        assert shell.run(verb, word, "--help").out.startswith(f"Usage: quarantine {verb} {word}")


def test_there_is_no_other_verb(shell: Shell) -> None:
    """A word that is none is named, with exit code 2; the version is told."""
    assert "'qarantine'" in shell.run("qarantine", code=2).err
    assert shell.run("--version").out.startswith("quarantine, version ")


def test_the_project_has_to_be_named(shell: Shell) -> None:
    """By the option or by the environment; without either the option is named."""
    assert "--project" in shell.run("list", "--database", "sqlite:///q.db", code=2).err
    refusal = shell.refused("list", "--database", "sqlite:///q.db", QUARANTINE_PROJECT="ledger")
    assert "quarantine db upgrade" in refusal
