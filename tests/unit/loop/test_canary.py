"""The canary: where it is written, that it has a new name each time, and that it is gone afterwards."""

import re
from pathlib import Path

import pytest

from quarantine.client.errors import ClientConfigurationError
from quarantine.loop.canary import CanaryTemplate


@pytest.mark.parametrize(
    ("files", "must_pass", "path"),
    [
        (["shop/a.py", "tests/test_a.py"], [], "tests/test_z{name}.py"),
        (["shop/a.py", "test/test_a.py"], [], "test/test_z{name}.py"),
        (["shop/a.py", "tests/test_a.py", "shop/t/test_b.py"], ["shop/t/test_b.py::test_x"], "shop/t/test_z{name}.py"),
        (["shop/a.py", "test_a.py"], ["test_a.py::test_x"], "test_z{name}.py"),
        (["shop/a.py", "tests/test_a.py"], ["pricing::test_x"], "tests/test_z{name}.py"),
        (["a.py"], [], "test_z{name}.py"),
    ],
)
def test_it_lies_beside_the_tests(files: list[str], must_pass: list[str], path: str) -> None:
    """Beside the first test that must pass, if its name is a path of the tree."""
    template = CanaryTemplate.for_pytest(files, must_pass)
    assert (template.path, template.select) == (path, path)


def test_each_has_a_name_of_its_own() -> None:
    """In the file's name, in the test's and in its text."""
    one, other = (CanaryTemplate().fresh() for _ in range(2))
    assert one.test != other.test
    assert re.fullmatch(r"test_z[0-9a-f]{16}", one.test)
    assert one.path.stem == one.test
    assert f"def {one.test}(" in one.content


def test_another_runner_has_its_own_template() -> None:
    """Braces of its language are left alone."""
    template = CanaryTemplate("src/Z{name}.java", "class Z{name} { { } }", "z{name}", "", 3)
    canary = template.fresh()
    assert canary.content == f"class {canary.path.stem} {{ {{ }} }}"
    assert (canary.select, canary.exit_code) == ("", 3)


def test_it_is_there_during_the_run_only(tmp_path: Path) -> None:
    """Also when the run breaks down, or removes it itself."""
    (tmp_path / "tests").mkdir()
    canary = CanaryTemplate().fresh()
    path = tmp_path / canary.path

    def broken() -> None:
        with canary.planted(tmp_path):
            assert path.read_text(encoding="utf-8") == canary.content
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert not path.exists()
    with canary.planted(tmp_path):
        path.unlink()


def test_without_its_folder_the_mend_names_the_option(tmp_path: Path) -> None:
    """A mistake of the call, not of the patch; nor is another's file overwritten."""
    with pytest.raises(ClientConfigurationError, match="--canary"), CanaryTemplate().fresh().planted(tmp_path):
        pass
    canary = CanaryTemplate("x{name}.py").fresh()
    (tmp_path / canary.path).write_text("mine", encoding="utf-8")
    with pytest.raises(ClientConfigurationError), canary.planted(tmp_path):
        pass
    assert (tmp_path / canary.path).read_text(encoding="utf-8") == "mine"
