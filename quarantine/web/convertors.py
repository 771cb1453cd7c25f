"""What a test's name may be in a path: anything, line breaks and slashes included."""

from starlette.convertors import Convertor, register_url_convertor

NAME = "name"


class NameConvertor(Convertor[str]):
    """Takes the rest of the path as it is; Starlette's own `path` stops at a line break."""

    regex = r"[\s\S]+"

    def convert(self, value: str) -> str:
        """Return the name as it stands in the path."""
        return value

    def to_string(self, value: str) -> str:
        """Return the name as it goes into a path."""
        return value


def register() -> None:
    """Make `{test:name}` known to routes."""
    register_url_convertor(NAME, NameConvertor())
