"""Where the files are that ship with the product beside its code."""

from importlib.resources import files
from pathlib import Path


def resource(name: str) -> Path:
    """Return the folder `name` that ships with the product: inside the wheel, else beside the source."""
    packaged = Path(str(files("quarantine").joinpath("_data", name)))
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[1] / name
