"""atomic_package: a package appears whole or not at all, and only ever replaces one of ours."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from gigatok_compile import atomic
from gigatok_compile.atomic import MANIFEST, MARKER_KEY, atomic_package
from gigatok_compile.errors import BuildError, DefinitionError

SLOW = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, and that is inherited
from pathlib import Path
from gigatok_compile.atomic import atomic_package
with atomic_package(Path(sys.argv[1]), "toy") as package:
    (package / "half").write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


def write_module(out: Path, text: str, name: str = "toy") -> None:
    with atomic_package(out, name) as package:
        (package / MANIFEST).write_text(json.dumps({MARKER_KEY: 1}))
        (package / "__init__.py").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_package_appears_when_it_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    with atomic_package(out, "toy") as package:
        assert package.name == "toy"
        assert package.parent.parent == out  # the same file system
        (package / "__init__.py").write_text("x = 1")
        assert not (out / "toy").exists()
    assert names(out) == ["toy"]
    assert (out / "toy" / "__init__.py").read_text() == "x = 1"
    assert (out / "toy").stat().st_mode & 0o777 == 0o777 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("exchange", [True, False])
def test_an_older_module_of_ours_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool) -> None:
    if not exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    write_module(tmp_path, "old")
    (tmp_path / "toy" / "extra").write_text("of the older one")
    write_module(tmp_path, "new")
    assert names(tmp_path) == ["toy"]
    assert names(tmp_path / "toy") == ["__init__.py", MANIFEST]
    assert (tmp_path / "toy" / "__init__.py").read_text() == "new"


def test_two_folders_change_places(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert atomic._exchange(tmp_path / "a", tmp_path / "b")
    assert (names(tmp_path / "a"), names(tmp_path / "b")) == (["b"], ["a"])
    assert not atomic._exchange(tmp_path / "a", tmp_path / "none")


@pytest.mark.parametrize("what", ["folder", "file", "link", "other", "damaged"])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, what: str) -> None:
    place = tmp_path / "toy"
    match what:
        case "folder":
            (place / "src").mkdir(parents=True)
        case "file":
            place.write_text("mine")
        case "link":
            write_module(tmp_path, "real", "real")
            place.symlink_to(tmp_path / "real")
        case "other":
            place.mkdir()
            (place / MANIFEST).write_text('{"name": "a web application"}')
        case "damaged":
            place.mkdir()
            (place / MANIFEST).write_text("[")
    before = names(tmp_path)
    with pytest.raises(DefinitionError, match=r"in the way|not a module that gigatok-compile made"):
        write_module(tmp_path, "new")
    assert names(tmp_path) == before


def test_an_empty_folder_is_not_ours_either(tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    with pytest.raises(DefinitionError):
        write_module(tmp_path, "new")


@pytest.mark.parametrize("error", [RuntimeError("refused"), KeyboardInterrupt(), SystemExit(3)])
def test_a_failure_leaves_nothing_and_keeps_the_older_module(tmp_path: Path, error: BaseException) -> None:
    write_module(tmp_path, "old")
    with pytest.raises(type(error)), atomic_package(tmp_path, "toy") as package:
        (package / "half").write_text("half")
        raise error
    assert names(tmp_path) == ["toy"]
    assert (tmp_path / "toy" / "__init__.py").read_text() == "old"


def test_a_failed_rename_keeps_the_older_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of the two renames fails, where folders cannot change places."""
    write_module(tmp_path, "old")
    monkeypatch.setattr(atomic, "_exchange", lambda first, second: False)
    rename = os.rename

    def fails(source: Path, target: Path) -> None:
        # the finished package, into the place that the first rename has emptied
        if Path(source).name == "toy" and Path(target).parent == tmp_path and not os.path.lexists(target):
            raise OSError(errno.EIO, "broken disk")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fails)
    with pytest.raises(BuildError, match="broken disk"):
        write_module(tmp_path, "new")
    assert names(tmp_path) == ["toy"]
    assert (tmp_path / "toy" / "__init__.py").read_text() == "old"


def test_a_full_disk_or_a_locked_folder_is_explained(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="the disk is full"), atomic_package(tmp_path, "toy"):
        raise OSError(errno.ENOSPC, "No space left on device", "x")
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="cannot be written"):
        write_module(tmp_path / "file", "x")
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2)])
def test_a_signal_leaves_nothing(tmp_path: Path, number: signal.Signals, status: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.wait(timeout=20) == status
    process.stdout.close()
    assert names(tmp_path) == []


def test_a_killed_run_leaves_no_module_and_is_swept_up_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen([sys.executable, "-c", SLOW, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    monkeypatch.setattr(atomic, "ABANDONED_AFTER", -1.0)
    write_module(tmp_path, "beside a running one")  # whose folder is locked, and so kept
    assert len(list(tmp_path.glob(".gigatok-toy-*.tmp"))) == 1
    process.kill()
    process.wait(timeout=20)
    process.stdout.close()
    assert len(list(tmp_path.glob(".gigatok-toy-*.tmp"))) == 1
    monkeypatch.setattr(atomic, "ABANDONED_AFTER", 60.0)
    write_module(tmp_path, "new")
    assert len(list(tmp_path.glob(".gigatok-toy-*.tmp"))) == 1  # too young to be sure
    monkeypatch.setattr(atomic, "ABANDONED_AFTER", -1.0)
    write_module(tmp_path, "newer")
    assert names(tmp_path) == ["toy"]


def test_a_run_killed_between_the_renames_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_module(tmp_path, "old")
    aside = tmp_path / ".gigatok-toy-abc.tmp"
    aside.mkdir()
    os.rename(tmp_path / "toy", aside / "old")
    monkeypatch.setattr(atomic, "ABANDONED_AFTER", -1.0)
    with pytest.raises(RuntimeError), atomic_package(tmp_path, "toy"):
        raise RuntimeError("this run fails too")
    assert names(tmp_path) == ["toy"]
    assert (tmp_path / "toy" / "__init__.py").read_text() == "old"


def test_a_reader_always_finds_a_whole_module(tmp_path: Path) -> None:
    write_module(tmp_path, "0")
    stop = threading.Event()
    bad: list[str] = []

    def read() -> None:
        while not stop.is_set():
            try:
                (tmp_path / "toy" / "__init__.py").read_text()
            except OSError as error:
                bad.append(str(error))

    thread = threading.Thread(target=read)
    thread.start()
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        write_module(tmp_path, "x")
    stop.set()
    thread.join()
    assert bad == []


def test_other_threads_may_use_it(tmp_path: Path) -> None:
    thread = threading.Thread(target=write_module, args=(tmp_path, "from a thread"))
    thread.start()
    thread.join()
    assert (tmp_path / "toy" / "__init__.py").read_text() == "from a thread"
