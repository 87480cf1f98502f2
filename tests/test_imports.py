"""Imports run one way, seen in the syntax trees: the runtime knows nothing of the compiler, passes nothing of the driver."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

# Lowest first. A component may import from lower layers; within a layer imports must not form a circle.
# A new component has to be put somewhere here, deliberately.
LAYERS: list[set[str]] = [
    {"errors"},
    {"ir", "names", "signals", "progress", "templates"},
    {"unicode", "atomic"},
    {
        "automaton",
        "bitstream",
        "build",
        "decoder",
        "definition",
        "definition_data",
        "emit",
        "grammars",
        "install",
        "manifest",
        "model_entry",
        "normalizer",
        "pattern",
        "split_plan",
        "verify",
        "vocabulary",
    },
    {"explain"},
    {"check", "driver"},
    {"cli"},
    {"__main__"},
]
FOLDERS = {
    "compiler": "gigatok_compile",
    "templates": "gigatok_compile.templates",
    "grammars": "gigatok_compile.grammars",
}
COMPILER_ONLY = {"gigatok_compile", "jinja2", "lark", "cffi", "rich", "setuptools", "compiler", "runtime"}


def imported(path: Path, *, types_too: bool = True) -> Iterator[tuple[str, int]]:
    """Full names of what a file imports, anywhere in it, and the line. `types_too`: under `if TYPE_CHECKING:` as well."""
    pending: list[ast.AST] = [ast.parse(path.read_text("utf-8"), str(path))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types_too:
            pending += node.orelse
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def component(name: str) -> str | None:
    """The part of the compiler that a dotted name lies in: "gigatok_compile.ir.tags.Tag" is in "ir"."""
    parts = name.split(".")
    return parts[1] if parts[0] == "gigatok_compile" and len(parts) > 1 else None


def components(root: Path) -> dict[str, list[Path]]:
    """Component to its files."""
    found: dict[str, list[Path]] = {"templates": [], "grammars": []}
    for path in sorted((root / "compiler").rglob("*.py")):
        first = path.relative_to(root / "compiler").parts[0]
        if first != "__init__.py":
            found.setdefault(first.removesuffix(".py"), []).append(path)
    for folder in ("templates", "grammars"):
        found[folder] += sorted((root / folder).rglob("*.py"))
    return found


@pytest.fixture(scope="module")
def layer_of() -> dict[str, int]:
    return {name: number for number, layer in enumerate(LAYERS) for name in layer}


def test_the_runtime_needs_nothing_of_the_compiler(root: Path) -> None:
    for path in sorted((root / "runtime").rglob("*.py")):
        for name, line in imported(path):
            assert name.split(".")[0] not in COMPILER_ONLY, f"{path}:{line} imports {name}"


def test_every_component_has_a_layer(root: Path, layer_of: dict[str, int]) -> None:
    assert set(components(root)) <= set(layer_of)


def test_the_compiler_imports_downwards(root: Path, layer_of: dict[str, int]) -> None:
    for here, files in components(root).items():
        for path in files:
            for name, line in imported(path):
                there = component(name) or here
                if there != "__version__":
                    assert there in layer_of, f"{path}:{line} imports {name}"
                    assert layer_of[there] <= layer_of[here], f"{path}:{line}: {here} imports {name}, which is above it"


def test_components_do_not_import_in_circles(root: Path) -> None:
    graph: dict[str, set[str]] = {}
    for here, files in components(root).items():
        for path in files:
            for name, _ in imported(path, types_too=False):
                there = component(name)
                if there and there != here:
                    graph.setdefault(here, set()).add(there)
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError and names the circle


def test_ir_types_import_only_each_other_and_errors(root: Path) -> None:
    for path in sorted((root / "compiler" / "ir").glob("*.py")):
        for name, line in imported(path):
            assert component(name) in (None, "ir", "errors"), f"{path}:{line} imports {name}"


def test_our_packages_go_by_their_import_names(root: Path) -> None:
    for folder in ("compiler", "runtime", "grammars", "templates", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            for name, line in imported(path):
                assert name.split(".")[0] not in ("compiler", "runtime", "templates", "grammars"), (
                    f"{path}:{line} imports {name}"
                )
