"""Writing a package all at once or not at all.

The package is built in a hidden folder beside its place, so on the same file system, and renamed into place when it is
whole. A run that fails or is interrupted (Ctrl-C, SIGTERM) takes its folder away again; one that is killed outright
leaves only a hidden folder, which the next run for the same name removes. An older module of ours is replaced; anything
else that is in the way is left alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gigatok_compile.errors import BuildError, DefinitionError
from gigatok_compile.signals import signals_deferred, termination_raises

MANIFEST = "manifest.json"
MARKER_KEY = "gigatok"
"""A module of ours holds MANIFEST, an object whose MARKER_KEY is a number (the manifest's format)."""

ABANDONED_AFTER = 60.0
"""Seconds after which a hidden folder that nobody holds a lock on is taken to be abandoned."""

_OLD = "old"


def is_our_module(folder: Path) -> bool:
    """Whether `folder` holds a manifest with our marker."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and isinstance(manifest.get(MARKER_KEY), int)


@contextlib.contextmanager
def atomic_package(out_dir: Path, name: str) -> Iterator[Path]:
    """A folder to fill; it becomes `out_dir/name` when the block ends without an exception.

    Args:
        out_dir: made if it is not there (and left there).
        name: the package's name.

    Raises:
        DefinitionError: something that is not a module of ours is at the place.
        BuildError: the folder cannot be written, or the disk is full.
    """
    target = out_dir / name
    _check_place(target)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(out_dir, name)
        work = Path(tempfile.mkdtemp(prefix=f".gigatok-{name}-", suffix=".tmp", dir=out_dir))
    except OSError as error:
        raise _write_error(error, out_dir) from None
    with termination_raises(), _locked(work):
        try:
            # The package's own folder has its final name, so that what is built in it can be imported from `work`.
            package = work / name
            package.mkdir()
            yield package
            _swap_in(package, target, work)
        except OSError as error:
            raise _write_error(error, out_dir) from error
        finally:
            _put_back(work, target)
            shutil.rmtree(work, ignore_errors=True)


def _check_place(target: Path) -> None:
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise DefinitionError(
            "a file of this name is in the way", where=str(target), hint="choose another --name or -o"
        )
    if not is_our_module(target):
        raise DefinitionError(
            "this folder is not a module that gigatok-compile made, so it is not replaced",
            where=str(target),
            hint="choose another --name or -o, or remove it",
        )


def _swap_in(package: Path, target: Path, work: Path) -> None:
    """Rename the finished package into place; an older module goes to `work`."""
    _check_place(target)
    try:
        os.rename(package, target)
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    # A folder cannot be renamed over one that holds files, but on most file systems two can change places.
    if not _exchange(package, target):
        with signals_deferred():
            os.rename(target, work / _OLD)
            os.rename(package, target)


def _exchange(first: Path, second: Path) -> bool:
    """Let two folders change places in one step; False if the system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    at_fdcwd, rename_exchange = -100, 2
    return bool(renameat2(at_fdcwd, os.fsencode(first), at_fdcwd, os.fsencode(second), rename_exchange) == 0)


def _put_back(work: Path, target: Path) -> None:
    """After an end between the two renames, the older module is aside and its place is empty."""
    if (work / _OLD).is_dir() and not os.path.lexists(target):
        os.rename(work / _OLD, target)


@contextlib.contextmanager
def _locked(work: Path) -> Iterator[None]:
    """Hold a lock on our folder; the kernel drops it when the process dies, which tells an abandoned folder."""
    descriptor = os.open(work, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _remove_abandoned(out_dir: Path, name: str) -> None:
    for folder in out_dir.glob(f".gigatok-{name}-*.tmp"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                # Its maker may not have locked a new one yet.
                if time.time() - os.fstat(descriptor).st_mtime > ABANDONED_AFTER:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _put_back(folder, out_dir / name)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _write_error(error: OSError, out_dir: Path) -> BuildError:
    where = str(error.filename or out_dir)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BuildError("the disk is full", where=where, hint="free some space, or choose another folder with -o")
    return BuildError(
        f"cannot be written: {error.strerror or error}", where=where, hint="choose another folder with -o"
    )
