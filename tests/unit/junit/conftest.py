"""What the tests of the junit room share: a reader for texts, and the folder of recorded reports."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quarantine.junit import Document, Upload, read_together

RECORDED = Path(__file__).parents[3] / ".." / "shared" / "junit"


@pytest.fixture
def read() -> Callable[..., Upload]:
    """Return a function that reads texts or bytes as the documents of one upload."""

    def read_texts(*texts: str | bytes) -> Upload:
        documents = [
            Document(f"{number}.xml", text.encode() if isinstance(text, str) else text)
            for number, text in enumerate(texts, start=1)
        ]
        return read_together(documents)

    return read_texts


@pytest.fixture(scope="session")
def recorded() -> Path:
    """Return the folder of recorded reports, or skip where it is absent."""
    if not RECORDED.is_dir():
        pytest.skip("the recorded reports (shared/junit beside the checkout) are absent")
    return RECORDED
