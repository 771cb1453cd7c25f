"""Which tests were renamed."""

from collections import defaultdict
from collections.abc import Iterable

from sqlalchemy import Connection, select

from quarantine.store.people_tables import ALIAS


def former_names(connection: Connection, project_id: int, tests: Iterable[int]) -> dict[int, set[int]]:
    """Return, for each of these tests, every ordinal it went by before, over any number of renames."""
    query = select(ALIAS.c.old, ALIAS.c.new).where(ALIAS.c.project_id == project_id)
    before: dict[int, set[int]] = defaultdict(set)
    for row in connection.execute(query):
        before[row.new].add(row.old)
    return {test: _all_before(test, before) for test in tests}


def _all_before(test: int, before: dict[int, set[int]]) -> set[int]:
    found, at_hand = set[int](), [test]
    while at_hand:
        fresh = before.get(at_hand.pop(), set()) - found - {test}
        found |= fresh
        at_hand += fresh
    return found
