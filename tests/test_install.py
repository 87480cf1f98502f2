"""--install: the wheel of a finished package, and the running environment that takes it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import numpy
import pip
import pytest
from gigatok_compile.errors import BuildError
from gigatok_compile.install import install_package, wheel_tag, write_wheel

VERSION = "0.1.0+0123456789ab"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A finished package, as far as a wheel can tell."""
    folder = tmp_path / "made" / "toy_model"
    (folder / "data").mkdir(parents=True)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"old")
    (folder / "manifest.json").write_text(
        json.dumps({"gigatok": 1, "version": VERSION, "reference": "tokenizers 0.23.3"})
    )
    (folder / "__init__.py").write_text('answer = "first"\n')
    (folder / "data" / "a,b.bin").write_bytes(bytes(range(256)))
    (folder / ("_native" + sysconfig.get_config_var("EXT_SUFFIX"))).write_bytes(b"\x7fELF")
    return folder


def test_the_wheel_is_named_and_tagged_for_this_python(package: Path, tmp_path: Path) -> None:
    from packaging.tags import sys_tags

    wheel = write_wheel(package, tmp_path)
    assert wheel.name == f"gigatok_module_toy_model-{VERSION}-{wheel_tag()}.whl"
    assert wheel_tag() in {str(tag) for tag in sys_tags()}


def test_the_record_is_right(package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(write_wheel(package, tmp_path)) as archive:
        info = f"gigatok_module_toy_model-{VERSION}.dist-info"
        rows = {
            name: (digest, size)
            for name, digest, size in csv.reader(io.StringIO(archive.read(f"{info}/RECORD").decode()))
        }
        assert set(rows) == set(archive.namelist())
        assert rows.pop(f"{info}/RECORD") == ("", "")
        for name, (digest, size) in rows.items():
            content = archive.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert (digest, int(size)) == (f"sha256={expected}", len(content))
        assert "toy_model/data/a,b.bin" in rows
        assert not [name for name in rows if "__pycache__" in name]
        assert "Root-Is-Purelib: false" in archive.read(f"{info}/WHEEL").decode()


def test_the_same_package_gives_the_same_wheel(package: Path, tmp_path: Path) -> None:
    wheels = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        wheels.append(write_wheel(package, tmp_path / name).read_bytes())
    assert wheels[0] == wheels[1]


def in_fresh_environment(folder: Path, *commands: str) -> list[str]:
    """Run Python commands in a new virtual environment that sees our packages (and pip) and installs into itself."""
    if not (folder / "bin").exists():
        venv.create(folder, with_pip=False)
        (site,) = folder.glob("lib/python*/site-packages")
        others = {str(Path(module.__file__).resolve().parent.parent) for module in (numpy, pip, pytest)}
        (site / "others.pth").write_text(
            "".join(f"import site; site.addsitedir({path!r})\n" for path in sorted(others))
        )
    outputs = []
    for command in commands:
        done = subprocess.run([folder / "bin" / "python", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.strip())
    return outputs


def test_a_module_is_installed_and_replaced(package: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    install = f"from pathlib import Path; from gigatok_compile.install import install_package; install_package(Path({str(package)!r}))"
    use = "import toy_model; from importlib.metadata import version; print(toy_model.__file__, toy_model.answer, version('gigatok-module-toy-model'))"
    _, first = in_fresh_environment(environment, install, use)
    assert first.startswith(str(environment))
    assert first.endswith(f"first {VERSION}")
    (package / "__init__.py").write_text('answer = "second"\n')
    _, second = in_fresh_environment(environment, install, use)
    assert second.endswith(f"second {VERSION}")


def test_an_environment_without_pip_is_said(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = package.parent.parent / "bare"
    venv.create(bare, with_pip=False)
    monkeypatch.setattr(sys, "executable", str(bare / "bin" / "python"))
    with pytest.raises(BuildError, match="has no pip") as caught:
        install_package(package)
    assert "python -m ensurepip" in str(caught.value)


def test_what_pip_says_is_shown(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = package.parent / "python"
    script.write_text("#!/bin/sh\necho 'error: externally-managed-environment' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(BuildError, match="externally-managed-environment"):
        install_package(package)
