"""`quarantine simulate`: the table, the JSON, the page, and what is refused."""

from tests.cli.shell import Shell

QUICK = ("simulate", "--worlds", "1", "--tests", "200", "--days", "10", "--builds", "20")


def test_the_table_and_the_page(shell: Shell) -> None:
    """Every rule in a row; the page is one file that needs nothing else."""
    told = shell.run(*QUICK, "--html", "page.html")
    rows = told.out.splitlines()
    assert rows[1].startswith("quarantine ")
    assert len(rows) == 20
    page = (shell.folder / "page.html").read_text()
    assert "<style>" in page
    assert "<script" not in page
    assert "CircleCI" in page


def test_the_same_seed_says_the_same(shell: Shell) -> None:
    """As JSON, one rule only."""
    first, again = (shell.run(*QUICK, "--rule", "quarantine", "--json").json for _ in range(2))
    assert first == again
    assert list(first["rules"]) == ["quarantine"]
    assert first["seeds"] == [1]


def test_what_is_no_rule_is_refused(shell: Shell) -> None:
    """With the names there are; another policy is taken from the configuration, and an incoherent one refused."""
    told = shell.run(*QUICK, "--rule", "ours", code=2)
    assert "There is no rule 'ours'" in told.err
    (shell.folder / "quarantine.toml").write_text("[policy]\nexit_ratio = 2\n")
    assert "exit_ratio" in shell.refused(*QUICK)
