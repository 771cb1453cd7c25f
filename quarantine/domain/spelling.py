"""The ways people and tools write a test's name, so that a raw name finds the test that an opaque id stands for."""

from quarantine.domain.identity import TestName

_MAX_PACKAGES = 12


def spellings(name: TestName, file: str = "") -> frozenset[str]:
    """Return every accepted way to write the name, the opaque id left out.

    Accepted are `classname::name`, `classname.name`, the bare `suites::classname::name`, and the pytest node ids that a
    dotted classname can stand for: the dots do not say where the module ends and the class begins, so each place is
    tried, and the report's own `file` when it gives one.
    """
    found = {name.display}
    if name.classname:
        found |= {f"{name.classname}::{name.name}", f"{name.classname}.{name.name}"}
    if name.suite:
        found.add("::".join([*name.suite, *([name.classname] if name.classname else []), name.name]))
    return frozenset(found | _node_ids(name, file))


def _node_ids(name: TestName, file: str) -> set[str]:
    parts = name.classname.split(".")
    if not all(part.isidentifier() or "-" in part for part in parts) or len(parts) > _MAX_PACKAGES:
        return set()
    ids = {"::".join(["/".join(parts[:end]) + ".py", *parts[end:], name.name]) for end in range(1, len(parts) + 1)}
    if file.endswith(".py"):
        module = file.removesuffix(".py").replace("\\", "/").strip("/").split("/")
        if parts[: len(module)] == module:
            return {"::".join([file, *parts[len(module) :], name.name])}
    return ids
