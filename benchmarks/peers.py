#!/usr/bin/env python3
"""Make the rivals' virtual environments from the package registry, by name and version.

    python benchmarks/peers.py [DIR]        DIR: $PEERS_DIR, else ~/.cache/tokenizer-peers

Two environments, because the release candidate and the release of tokenizers have one name. An environment that
is there already is kept when it holds the versions below; otherwise pip is asked for them again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "released": (
        "tokenizers==0.23.3", "gigatoken==0.10.0", "fastokens==0.3.5", "tiktoken==0.14.0", "sentencepiece==0.2.3",
        "kitoken==0.11.1", "tokie==0.1.4", "iree-tokenizer==0.3.0", "awkward", "numpy",
    ),
    "hf-rc": ("tokenizers==1.0.0rc3", "numpy"),
}  # fmt: skip
CHECK = """
import sys
from importlib.metadata import version
for wanted in sys.argv[1:]:
    name, _, number = wanted.partition("==")
    found = version(name)
    if number and found != number:
        sys.exit(f"{name} {found} where {number} is wanted")
"""


def peers_folder(folder: str | None = None) -> Path:
    return Path(folder or os.environ.get("PEERS_DIR") or Path.home() / ".cache" / "tokenizer-peers").expanduser()


def python_of(environment: str, folder: Path) -> Path:
    return folder / environment / "bin" / "python"


def is_complete(environment: str, folder: Path) -> bool:
    python = python_of(environment, folder)
    if not python.exists():
        return False
    command = [str(python), "-c", CHECK, *ENVIRONMENTS[environment]]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def make_environments(folder: Path) -> None:
    for environment, packages in ENVIRONMENTS.items():
        if is_complete(environment, folder):
            continue
        print(f"making {environment}: {', '.join(packages)}", file=sys.stderr, flush=True)
        if not python_of(environment, folder).exists():
            venv.EnvBuilder(with_pip=True, symlinks=True).create(folder / environment)
        subprocess.run([str(python_of(environment, folder)), "-m", "pip", "install", "-q", *packages], check=True)
        if not is_complete(environment, folder):
            raise SystemExit(f"{environment}: the registry gave other versions than {', '.join(packages)}")


if __name__ == "__main__":
    target = peers_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    make_environments(target)
    print(target)
