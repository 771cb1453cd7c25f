"""Which part of a spelling may be the bare name of a test."""

import tracemalloc

from quarantine.services.naming import bare_names


def test_every_part_of_a_spelling_may_be_the_bare_name() -> None:
    """The longest first: a name may hold what separates it from what stands before it."""
    assert bare_names("a/b.py::C::t[1.5]") == ["a/b.py::C::t[1.5]", "py::C::t[1.5]", "C::t[1.5]", "t[1.5]", "5]"]
    assert "t[" + "." * 500 in bare_names("com.example.shop::C::t[" + "." * 500)


def test_names_of_nothing_but_dots_do_not_fill_the_memory() -> None:
    """A question of some 4 MiB may hold a thousand of them, and whoever may read may ask."""
    tracemalloc.start()
    try:
        kept = [bare_names("." * 4000) for _ in range(20)]
        assert tracemalloc.get_traced_memory()[0] < 64 * 4200 * 21
    finally:
        tracemalloc.stop()
    assert len(kept) == 20
