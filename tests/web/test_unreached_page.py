"""The page of a verdict names lines that no passing gating test reached, and parts where no lines are known."""

import json

from quarantine.services import reaching
from tests.scenarios.asking import BASE, ask, suite
from tests.web.site import Site
from tests.world import PROJECT, sender, tree


def test_lines_are_named_where_they_are_known(site: Site) -> None:
    """As text and no more, whatever the function is called; those beyond the first forty are counted."""
    site.world.send(BASE, suite())
    lines = [
        {"function_table": [["shop/totals.py", "<module>"], ["shop/totals.py", "<b>discount</b>"]]},
        {"test": "tests/test_ledger.py::t1", "files": ["shop/totals.py", "page.html"], "functions": []},
    ]
    body = [json.dumps(line).encode() for line in lines]
    reaching.add_reach(site.world.app, PROJECT, sender(), body, tree=tree(BASE))
    told = [["shop/totals.py", "<b>discount</b>", 40, 52]]
    told += [["shop/totals.py", f"new_{number}", 100 + number, 100 + number] for number in range(45)]
    changed = [["shop/totals.py", "body", "new"], ["page.html", "blob", "new"]]
    ask(site.world, "head", suite(t1="S"), changed=changed, question={"changed_lines": told})
    page = site.page(f"/projects/{PROJECT}/verdicts/1")
    page.check_inert()
    assert "shop/totals.py lines 40-52 (in <b>discount</b>) line 100 (in new_0; new, no map has seen it)" in page.text
    assert "6 more places" in page.text
    assert "page.html blob" in page.text
