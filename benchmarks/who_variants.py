"""Small definitions, each a step away from a real one, for what an engine is known or suspected to overlook."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Variant(NamedTuple):
    name: str
    claim: str
    path: Path
    texts: tuple[str, ...]
    added: tuple[str, ...]


def make_variants(shared: Path, folder: Path) -> list[Variant]:
    return []
