"""The pytest plugin. It does nothing unless it is asked with `--quarantine` or one of its other options.

This module is loaded by every pytest that finds the product installed, so it names the options and no more; the rest
is loaded when it is asked for.

Inside one session of pytest:

gates      asks which tests do not gate, once, before the first test
excuses    counts and shows failures of such tests apart
ownership  tells a test's own error from one of what several tests share
tries      keeps what every try of every test came to
planning   asks how often each failing test is worth that
repeats    runs failing tests again after the last one
selection  leaves only the quarantined tests
contexts, fixtures   record reach
junit_file puts every try into the JUnit file
upload     describes the build before the run, sends the report after it
session    the process that talks to the person; worker: a worker of pytest-xdist
"""

import pytest

TYPE_CHECKING = False  # type checkers read the name; importing `typing` for it would cost more than the rest
if TYPE_CHECKING:
    from typing import Any

FLAGS = {
    "--quarantine": "Failures of quarantined tests are shown apart and do not fail the session.",
    "--quarantined-only": "Run only the quarantined tests; implies --quarantine.",
    "--quarantine-upload": "Send the JUnit report to the daemon at the end; implies --quarantine.",
    "--quarantine-reach": "Record which code each test reaches, and which fixtures it shares.",
}
TEXTS = {
    "url": "The daemon [environment: QUARANTINE_URL].",
    "project": "The project [environment: QUARANTINE_PROJECT].",
}
VARIANT = "A pair of the variant, beside os, python and the CI job, which are found; repeatable."
RERUNS = (
    "After the last test, run failing ones again as the daemon plans, each up to N more times; the verdict stays, the "
    "tries are reported [default: as planned where the report is sent, else 0]."
)
COMMAND = "The command that runs this suite, as the daemon is told it [default: as pytest was called]."


def pytest_addoption(parser: pytest.Parser) -> None:
    """Name the options and the settings of the configuration file."""
    group = parser.getgroup("quarantine", "quarantined tests")
    for flag, text in FLAGS.items():
        group.addoption(flag, action="store_true", help=text)
    for name, text in TEXTS.items():
        group.addoption(f"--quarantine-{name}", metavar=name.upper(), help=text)
        parser.addini(f"quarantine_{name}", text, default="")
    group.addoption("--quarantine-reruns", type=int, metavar="N", help=RERUNS)
    group.addoption("--quarantine-variant", action="append", metavar="KEY=VALUE", default=[], help=VARIANT)
    group.addoption("--quarantine-command", metavar="COMMAND", help=COMMAND)
    parser.addini("quarantine", FLAGS["--quarantine"], type="bool", default=None)  # false is said, None is not
    parser.addini("quarantine_upload", FLAGS["--quarantine-upload"], type="bool", default=False)
    parser.addini("quarantine_reruns", RERUNS, default="")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: "Any") -> None:
    """Begin to record reach before the first file of the project is imported."""
    if early_config.known_args_namespace.quarantine_reach:
        from quarantine.pytest_plugin import contexts  # noqa: PLC0415 - only when asked

        contexts.begin(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load and register what does the work, when it is asked for."""
    if _is_asked(config):
        from quarantine.pytest_plugin import options  # noqa: PLC0415 - only when asked

        options.take_part(config)


def _is_asked(config: pytest.Config) -> bool:
    words, settings = config.option, map(config.getini, ("quarantine", "quarantine_upload"))
    flags = (words.quarantine, words.quarantined_only, words.quarantine_upload, words.quarantine_reach)
    return any((*flags, *settings, words.quarantine_reruns, config.getini("quarantine_reruns") not in ("", "0")))
