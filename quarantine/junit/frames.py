"""What the handlers hold while elements are open."""

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from quarantine.junit.dialects import Attributes
from quarantine.junit.documents import Limits
from quarantine.junit.texts import BoundedText

if TYPE_CHECKING:
    from quarantine.junit.records import SuiteRecords


class Frame:
    """One open suite.

    Attributes:
        attributes: of the element; empty for what stands directly under the root.
        properties: the suite's own, name to value.
        records: None until its first case.
        cases: records in it and in the suites inside it.
    """

    __slots__ = ("attributes", "cases", "properties", "records")

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.properties: dict[str, str] = {}
        self.records: SuiteRecords | None = None
        self.cases = 0


class Capture(BoundedText):
    """One open element whose text is kept."""

    __slots__ = ("depth", "element")

    def __init__(self, element: Element, depth: int, limits: Limits) -> None:
        super().__init__(limits.head_chars, limits.tail_chars)
        self.element = element
        self.depth = depth


class OpenCase:
    """What waits while a case inside a case is read."""

    __slots__ = ("attributes", "element", "surplus")

    def __init__(self, attributes: dict[str, str], element: Element | None, surplus: int) -> None:
        self.attributes = attributes
        self.element = element
        self.surplus = surplus
