"""A finished package to a wheel, and the wheel into the running environment.

The wheel is written by hand: a build backend would want a project folder, an isolated environment and the network, and all
there is to do is to put files into an archive with three descriptions beside them.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from gigatok_compile.atomic import MANIFEST
from gigatok_compile.errors import BuildError

DISTRIBUTION_PREFIX = "gigatok-module-"
"""In front of the module's name: `gpt2` alone is somebody else's distribution."""


def install_package(package: Path) -> None:
    """Install a finished package folder, replacing an older one of the same name. Nothing is downloaded.

    Raises:
        BuildError: pip is not there, or what it says.
    """
    with tempfile.TemporaryDirectory(prefix="gigatok-wheel-") as folder:
        wheel = write_wheel(package, Path(folder))
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--force-reinstall", "--no-index", str(wheel)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    if any("No module named pip" in line for line in lines):
        raise BuildError(
            f"{sys.executable} has no pip, so the module is not installed",
            where=str(package),
            hint="it is complete and can be imported from there; for an installation: python -m ensurepip",
        )
    raise BuildError(
        "\n".join(("pip could not install the module", *(f"    {line}" for line in lines[:20]))),
        where=str(package),
        hint="it is complete and can be imported from there; an environment of its own (python -m venv) takes it",
    )


def write_wheel(package: Path, folder: Path) -> Path:
    """The wheel of a package folder, for this Python and platform.

    Args:
        package: the folder; its name is the import name, its manifest holds the version.
        folder: where the wheel goes.

    Returns:
        The wheel's path. The same package gives the same bytes.
    """
    manifest = json.loads((package / MANIFEST).read_bytes())
    version = str(manifest["version"])
    distribution = (DISTRIBUTION_PREFIX + package.name).replace("-", "_")
    info = f"{distribution}-{version}.dist-info"
    tag = wheel_tag()
    files = {
        f"{package.name}/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in sorted(package.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    files[f"{info}/METADATA"] = _metadata(package.name, version, str(manifest["reference"])).encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: gigatok-compile\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    files[f"{info}/top_level.txt"] = f"{package.name}\n".encode()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD").encode()
    wheel = folder / f"{distribution}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return wheel


def wheel_tag() -> str:
    """`cp311-cp311-linux_x86_64` of the running Python: the library is built for it and no other."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    # SOABI is "cpython-313t-x86_64-linux-gnu"; its second part has the t of free-threaded builds
    abi = "cp" + str(sysconfig.get_config_var("SOABI")).split("-")[1]
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{abi}-{platform}"


def _metadata(name: str, version: str, reference: str) -> str:
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {DISTRIBUTION_PREFIX}{name}\n"
        f"Version: {version}\n"
        f"Summary: The tokenizer {name}, compiled by gigatok-compile; its ids are those of {reference}\n"
        "Requires-Dist: gigatok-compile\n"
        "Requires-Dist: numpy\n"
    )


def _record(files: dict[str, bytes], own_name: str) -> str:
    """RECORD: path, digest and size of every file; its own line has neither."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        writer.writerow((name, f"sha256={digest}", len(content)))
    writer.writerow((own_name, "", ""))
    return text.getvalue()
