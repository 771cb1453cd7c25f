"""`quarantine tree`: name the exact content that lies here, for whoever writes the build part by hand."""

import os
from pathlib import Path

import click

from quarantine.cli.options import complain, json_option, print_json
from quarantine.cli.tested import base_option, leave_out_option, root_of, root_option

_COMPARED = ("base_commit", "changed", "hash_alg")


@click.command()
@root_option("The folder")
@leave_out_option
@base_option
@json_option
def command(root: Path | None, leave_out: tuple[Path, ...], base: str | None, *, as_json: bool) -> None:
    """Print the hash of the tree that lies here, as `quarantine report` sends it.

    Every file counts, ignored ones too, but for caches, virtual environments and what you leave out. Take it before
    the suite runs, so that nothing the run writes is part of it.

    With --json: tree, root, commit; edited, stray and gone, the files that differ from the commit, are in none, or are
    missing; base_commit, changed and hash_alg, the parts of files that differ from trunk, as the build part has them.
    """
    from quarantine.client.build_part import delta, stray_files
    from quarantine.client.git import head_commit
    from quarantine.client.providers import named_base
    from quarantine.client.tree import read_tree
    from quarantine.client.uncommitted import uncommitted

    taken = root_of(root)
    tree = read_tree(taken.path, leave_out=leave_out)
    if not as_json:
        for remark in stray_files(tree, taken.path):
            complain(remark)
        click.echo(tree.hash)
        return
    compared, remarks = delta(tree, taken.path, base or named_base(os.environ))
    for remark in remarks:
        complain(remark)
    differing = uncommitted(tree, taken.path)
    told = {"tree": tree.hash, "root": str(taken.path.resolve()), "commit": head_commit(taken.path)}
    print_json(told | differing._asdict() | {name: compared.get(name) for name in _COMPARED})
