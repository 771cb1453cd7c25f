"""The group of verbs. A verb's module is imported when the verb is used, so that a light verb stays light."""

import importlib

import click

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("quarantine.cli.demo", "Watch it work: a small repository, sixty builds, one flaky test."),
    "serve": ("quarantine.cli.serve", "Run the daemon."),
    "report": ("quarantine.cli.report", "Send JUnit reports of this build to the daemon."),
    "gate": ("quarantine.cli.gate", "Exit by the verdict on a run: accept, reject, inconclusive."),
    "run": ("quarantine.cli.run", "Run the tests and exit by the verdict on them."),
    "solve": ("quarantine.cli.solve", "Let an agent mend a ticket, judged by the tests."),
    "attempts": ("quarantine.cli.attempts", "Show what the loops on tickets came to."),
    "weekly": ("quarantine.cli.weekly", "Print the quarantine-size report of a week."),
    "simulate": ("quarantine.cli.simulate", "Let the policy and everybody's rules loose on made-up worlds."),
    "is-gating": ("quarantine.cli.is_gating", "Exit 0 if a test gates, 1 if it does not."),
    "list": ("quarantine.cli.listing", "List the tests that are not simply gating."),
    "explain": ("quarantine.cli.explain", "Explain one test: a sentence, then the evidence."),
    "reruns": ("quarantine.cli.reruns", "Show, or do, the reruns the daemon wants."),
    "enter": ("quarantine.cli.enter", "Quarantine a test by hand, until a date, with a reason."),
    "release": ("quarantine.cli.release", "Let a quarantined test gate again, with a reason."),
    "alias": ("quarantine.cli.alias", "Let a renamed test go by its new name, with a reason."),
    "enforce": ("quarantine.cli.mode", "Act on the decisions of a project."),
    "observe": ("quarantine.cli.mode", "Only show what would have been decided."),
    "junit": ("quarantine.cli.junit", "Show what is read in JUnit files."),
    "reach": ("quarantine.cli.reach", "Tell the daemon which files each test reaches."),
    "tree": ("quarantine.cli.tree", "Print the hash of the tree that lies here."),
    "slack": ("quarantine.cli.slack", "Try out how people are told: a trial message, what is parked."),
    "mail": ("quarantine.cli.mail", "Try out how letters are sent: a trial letter."),
    "project": ("quarantine.cli.project", "Create and list projects."),
    "token": ("quarantine.cli.token", "Create, list and revoke API tokens."),
    "db": ("quarantine.cli.db", "Upgrade and check the database."),
}


class LazyGroup(click.Group):
    """A group that knows its verbs by name and loads them on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the verbs in the order a newcomer meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return the verb's command; None when there is no such verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(VERBS[cmd_name][0])
        commands: dict[str, click.Command] = getattr(module, "COMMANDS", {})
        command = commands.get(cmd_name) or module.command
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__} has no command for {cmd_name}")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, line) for name, (_module, line) in VERBS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="quarantine-daemon", prog_name="quarantine")
def cli() -> None:
    """Keep a flaky test suite usable as a verifier.

    quarantine takes in every JUnit report, proves which failures the change cannot explain, and takes such tests out of
    the gating set while they go on running and being reported.

    Exit codes: 0 when it is done or the answer is yes; 1 when the answer is no, or when nobody answers now and the same
    call may succeed later; 2 when the call or the configuration has to be mended. Each verb's --help says more.
    """
