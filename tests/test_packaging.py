"""The distribution: what pyproject lists is what the folders hold, and the wheel and the editable install both work."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDERS = {
    "gigatok_compile": "compiler",
    "gigatok_compile.templates": "templates",
    "gigatok_compile.grammars": "grammars",
    "gigatok_runtime": "runtime",
}

# Run in a fresh environment, from a folder that is not the checkout.
CHECK = """
import importlib, sys
from importlib import metadata, resources
names = sys.argv[1].split()
for name in names:
    importlib.import_module(name)
import gigatok_compile, gigatok_runtime
for module in (gigatok_compile, gigatok_runtime):
    assert module.__file__.startswith(sys.argv[2]), module.__file__
    assert (resources.files(module.__name__) / "py.typed").is_file()
assert metadata.version("gigatok-compile") == gigatok_compile.__version__
assert (resources.files("gigatok_compile.templates") / "gigatok.h").read_text().startswith("/*")
assert [f for f in resources.files("gigatok_compile.grammars").iterdir() if f.name.endswith(".lark")]
from gigatok_compile.definition import read_definition
from gigatok_compile.grammars.registry import load_grammar
assert len(read_definition("gpt2").model.tokens) == 50257
assert load_grammar("cl100k").special_tokens
print("fine")
"""


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))


def package_files(root: Path) -> dict[str, Path]:
    """Every file of our packages: the name it has in a wheel, and where it is."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in (root / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".so", ".md"):
                found[f"{package.replace('.', '/')}/{path.relative_to(root / folder).as_posix()}"] = path
    return found


def test_the_list_of_packages_is_the_folders_with_python_files(root: Path, project: dict[str, Any]) -> None:
    """`packages` is written by hand: what is forgotten there works when editable and is missing from the wheel."""
    folders = {name.rpartition("/")[0].replace("/", ".") for name in package_files(root) if name.endswith(".py")}
    assert set(project["tool"]["setuptools"]["packages"]) == folders


def test_no_compiled_package_is_tracked(root: Path) -> None:
    """`gigatok-compile FILE` in the checkout leaves one there, with a vocabulary that may not be ours to pass on."""
    if not (root / ".git").exists():
        return
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "pyproject.toml" in tracked
    assert [name for name in tracked if name.endswith("definition.npz")] == []


def test_the_version_is_said_once(project: dict[str, Any], root: Path) -> None:
    import gigatok_compile

    assert project["project"]["version"] == gigatok_compile.__version__
    assert f"## {gigatok_compile.__version__}" in (root / "CHANGELOG.md").read_text("utf-8")


def test_no_distribution_or_package_is_called_gigatok(project: dict[str, Any]) -> None:
    assert project["project"]["name"] == "gigatok-compile"
    assert "gigatok" not in project["tool"]["setuptools"]["packages"]
    assert set(project["project"]["scripts"]) >= {"gigatok-compile"}
    assert "gigatok" not in project["project"]["scripts"]


def test_licence_and_python_are_stated(project: dict[str, Any], root: Path) -> None:
    assert project["project"]["license"] == "MIT"
    assert project["project"]["requires-python"] == ">=3.10"
    assert (root / "LICENSE").read_text("utf-8").startswith("MIT License")


def test_what_is_imported_is_required(project: dict[str, Any]) -> None:
    required = {re.match(r"[\w-]+", line)[0] for line in project["project"]["dependencies"]}  # type: ignore[index]
    assert required >= {"cffi", "jinja2", "lark", "numpy", "regex", "rich"}


@pytest.fixture(scope="module")
def copy(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project without what building leaves behind: a stale build/ leaks deleted files into the next wheel."""
    target = tmp_path_factory.mktemp("project") / "copy"
    target.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, target)
    for folder in FOLDERS.values():
        shutil.copytree(root / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    return target


def pip(python: str | Path, *arguments: str | Path) -> None:
    command = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        *arguments,
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def fresh_environment(folder: Path) -> tuple[Path, Path]:
    """A virtual environment that sees the packages of this one but not our editable install: a path in a .pth file is
    added, and .pth files in it are not run. Its python and its site-packages."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    others = {str(Path(module).resolve().parent.parent) for module in (numpy.__file__, pytest.__file__)}
    (site / "others.pth").write_text("\n".join(sorted(others)) + "\n")
    return folder / "bin" / "python", site


@pytest.fixture(scope="module")
def wheel(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", copy, "--wheel-dir", folder)
    (built,) = folder.glob("*.whl")
    shutil.rmtree(copy / "build", ignore_errors=True)
    return built


def test_the_wheel_holds_what_the_folders_hold(root: Path, wheel: Path) -> None:
    assert wheel.name == f"gigatok_compile-{importlib.metadata.version('gigatok-compile')}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == set(package_files(root))


def test_the_wheel_works(wheel: Path, tmp_path: Path, project: dict[str, Any]) -> None:
    python, site = fresh_environment(tmp_path / "environment")
    pip(python, "install", wheel)
    check(python, site, tmp_path, project)
    command = subprocess.run(
        [tmp_path / "environment/bin/gigatok-compile", "--version"], capture_output=True, text=True, check=True
    )
    assert command.stdout.startswith("gigatok-compile ")


def test_the_editable_install_works(copy: Path, tmp_path: Path, project: dict[str, Any]) -> None:
    python, _ = fresh_environment(tmp_path / "environment")
    pip(python, "install", "--editable", copy)
    check(python, copy, tmp_path, project)


def check(python: Path, place: Path, cwd: Path, project: dict[str, Any]) -> None:
    names = " ".join(project["tool"]["setuptools"]["packages"])
    done = subprocess.run(
        [python, "-c", CHECK, names, str(place)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.stdout == "fine\n", done.stderr
