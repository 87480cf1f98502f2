"""C sources to an importable extension module: cffi writes the glue, the C compiler is called directly.

cffi's own `compile()` needs setuptools, hides the compiler's messages and mixes its flags with ours. Here the glue is
emitted as C text, every source becomes one object, and one link makes the library: `-Wextra` applies to our sources only,
and each thing that can go wrong outside of them (no compiler, no headers, a full disk) is told apart and explained.

There is no `-march`: the library holds a kernel for each instruction set and picks one when it is loaded.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import cffi
import numpy as np
from gigatok_compile.errors import BuildError
from gigatok_compile.signals import signals_deferred

OBJECT_FLAGS = ("-O3", "-fPIC", "-std=gnu11", "-fvisibility=hidden", "-pthread")
WARNING_FLAGS = ("-Wall", "-Wextra")
LINK_FLAGS = ("-shared", "-pthread", "-Wl,-z,noexecstack")
SOURCE_SUFFIXES = (".c", ".S")
SHOWN_LINES = 20

_NO_COMPILER_HINT = (
    "install one: `apt install gcc libc6-dev` on Debian or Ubuntu, `dnf install gcc` on Fedora; or set CC"
)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A command that did not exit with 0. `source` is the file it was about."""

    command: Sequence[str]
    source: str
    status: int
    stderr: str


def build_module(
    files: Mapping[str, str | bytes],
    package_dir: Path,
    module_name: str,
    cdef: str,
    *,
    preamble: str = '#include "gigatok.h"\n',
    extra_flags: Sequence[str] = (),
) -> Path:
    """Compile C sources and cffi's glue for them into `package_dir`.

    Args:
        files: the source tree, relative name to content: `.c` and `.S` are compiled, the rest (headers, tables) lies beside.
        package_dir: an existing folder; the library is written there and nothing else is.
        module_name: import name, may be dotted ("gpt2._native"); the last part names the file and its PyInit function.
        cdef: the declarations that Python sees, in cffi's subset of C.
        preamble: C text that declares the same things to the compiler.
        extra_flags: more flags for the sources in `files` (not for the glue).

    Returns:
        The library's path, with the running Python's EXT_SUFFIX.

    Raises:
        BuildError: what is missing and how to install it, a full disk, or the first lines of the compiler's errors.
    """
    compiler = find_compiler()
    includes = _include_dirs()
    base = module_name.rpartition(".")[2]
    library = package_dir / (base + str(sysconfig.get_config_var("EXT_SUFFIX")))
    try:
        with tempfile.TemporaryDirectory(prefix="gigatok-build-", ignore_cleanup_errors=True) as folder:
            # cffi and the compiler get absolute paths: both may change directory.
            work = Path(folder).resolve()
            sources = _write_files(work, files)
            glue = work / f"{base}.cffi.c"
            _emit_glue(glue, module_name, cdef, preamble)
            built = work / library.name
            common = [*compiler, *OBJECT_FLAGS, f"-ffile-prefix-map={work}=.", f"-I{work}", *includes]
            ours = [_compile_command([*common, *WARNING_FLAGS, *extra_flags], source) for source in sources]
            _run([*ours, _compile_command(common, glue)], work)
            objects = [str(_object(source)) for source in (*sources, glue)]
            _run([[*compiler, *LINK_FLAGS, *objects, "-o", str(built)]], work)
            _copy(built, library)
    except OSError as error:
        _raise_os_error(error)
    return library


def build_library(files: Mapping[str, str | bytes], library: Path) -> None:
    """Compile C sources to a shared library that needs neither Python nor its headers.

    Raises:
        BuildError: as build_module does.
    """
    compiler = find_compiler()
    try:
        with tempfile.TemporaryDirectory(prefix="gigatok-build-", ignore_cleanup_errors=True) as folder:
            work = Path(folder).resolve()
            sources = _write_files(work, files)
            flags = [*compiler, *OBJECT_FLAGS, *WARNING_FLAGS, f"-ffile-prefix-map={work}=.", f"-I{work}"]
            _run([_compile_command(flags, source) for source in sources], work)
            built = work / library.name
            _run([[*compiler, *LINK_FLAGS, *(str(_object(source)) for source in sources), "-o", str(built)]], work)
            _copy(built, library)
    except OSError as error:
        _raise_os_error(error)


def find_compiler() -> list[str]:
    """The C compiler's command: CC of the environment, the one that built Python, or one that is on the PATH.

    Raises:
        BuildError: there is none.
    """
    chosen = os.environ.get("CC")
    if chosen:
        command = shlex.split(chosen)
        if command and shutil.which(command[0]):
            return command
        raise BuildError(f"CC is set to {chosen!r}, which is not a program", hint="unset CC, or set it to a C compiler")
    # Python's own may be a name that exists only where Python was built.
    for candidate in (str(sysconfig.get_config_var("CC") or ""), "cc", "gcc", "clang"):
        command = shlex.split(candidate)
        if command and shutil.which(command[0]):
            return command
    raise BuildError("there is no C compiler on this machine", hint=_NO_COMPILER_HINT)


def _include_dirs() -> list[str]:
    """`-isystem` flags for Python's and numpy's headers (system: their warnings are not ours)."""
    paths = sysconfig.get_paths()
    python = dict.fromkeys((paths["include"], paths["platinclude"]))
    if not any((Path(folder) / "Python.h").is_file() for folder in python):
        raise BuildError(
            f"Python's headers are not installed (no Python.h in {' or '.join(python)})",
            hint="install them: `apt install python3-dev` on Debian or Ubuntu, `dnf install python3-devel` on Fedora",
        )
    numpy = Path(np.get_include())
    if not (numpy / "numpy" / "ndarrayobject.h").is_file():
        raise BuildError(
            f"numpy's headers are not installed ({numpy})", hint="reinstall it: `pip install --force-reinstall numpy`"
        )
    return [word for folder in (*python, str(numpy)) for word in ("-isystem", folder)]


def _write_files(work: Path, files: Mapping[str, str | bytes]) -> list[Path]:
    """Write the tree; returns the sources to compile, in the given order."""
    sources = []
    for name, content in files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if path.suffix in SOURCE_SUFFIXES:
            sources.append(path)
    return sources


def _copy(built: Path, library: Path) -> None:
    try:
        shutil.copyfile(built, library)
    except BaseException:
        library.unlink(missing_ok=True)
        raise


def _emit_glue(path: Path, module_name: str, cdef: str, preamble: str) -> None:
    ffi = cffi.FFI()
    ffi.cdef(cdef)
    ffi.set_source(module_name, preamble, py_limited_api=False)
    with contextlib.redirect_stdout(io.StringIO()):  # it announces the file
        ffi.emit_c_code(str(path))


def _object(source: Path) -> Path:
    return source.with_suffix(source.suffix + ".o")


def _compile_command(flags: Sequence[str], source: Path) -> list[str]:
    return [*flags, "-c", str(source), "-o", str(_object(source))]


def _run(commands: Sequence[Sequence[str]], work: Path) -> None:
    """Run the commands side by side; they are killed if we are interrupted.

    Raises:
        BuildError: for the first, in the given order, that failed.
    """
    running: list[subprocess.Popen[str]] = []
    try:
        with signals_deferred():  # an interrupt while one starts would leave it running, known to nobody
            for command in commands:
                running.append(_start(command, work))
        messages = [process.communicate()[1] for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)  # gcc is a family of processes
                process.communicate()
    for command, process, message in zip(commands, running, messages, strict=True):
        if process.returncode:
            source = Path(command[-3]).name if "-c" in command else "the library"
            _explain(_Failure(command, source, process.returncode, message.replace(f"{work}{os.sep}", "")))


def _start(command: Sequence[str], work: Path) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            cwd=work,
            # The compiler's own temporary files go where ours are deleted. English messages are what _explain knows.
            env=os.environ | {"TMPDIR": str(work), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise BuildError(f"the C compiler cannot be run: {error.strerror}", where=command[0], hint="set CC") from None


_CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"No space left on device|Disk quota exceeded",
        "the disk is full",
        "free some space, or point TMPDIR at another disk",
    ),
    (
        r"cannot execute '?(cc1|as)\b|error trying to exec|installation problem, cannot exec|cannot find 'ld'",
        "the C compiler is not complete",
        _NO_COMPILER_HINT,
    ),
    (
        r"fatal error: '?(std\w+|string|errno|limits|features|bits/[\w/-]+|sys/\w+)\.h|cannot find (crt[1i]\.o|-lc\b)",
        "the C library's headers are not installed",
        "install them: `apt install libc6-dev` on Debian or Ubuntu, `dnf install glibc-devel` on Fedora",
    ),
    (
        r"fatal error: '?Python\.h",
        "Python's headers are not installed",
        "install them: `apt install python3-dev` on Debian or Ubuntu, `dnf install python3-devel` on Fedora",
    ),
)
"""(what the compiler's messages contain, what it means, what to do)."""


def _explain(failure: _Failure) -> NoReturn:
    for pattern, meaning, hint in _CAUSES:
        if re.search(pattern, failure.stderr):
            raise BuildError(meaning, where=failure.source, hint=hint)
    lines = failure.stderr.strip().splitlines()
    shown = [f"    {line}" for line in lines[:SHOWN_LINES]]
    if len(lines) > SHOWN_LINES:
        shown.append(f"    ... and {len(lines) - SHOWN_LINES} lines more")
    what = f"killed by signal {-failure.status}" if failure.status < 0 else f"exit status {failure.status}"
    raise BuildError(
        "\n".join((f"the C compiler failed ({failure.command[0]}, {what})", *shown)),
        where=failure.source,
        hint="gcc 10 or clang 12 or later is needed; --keep-c DIR keeps the sources for a report",
    )


def _raise_os_error(error: OSError) -> NoReturn:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise BuildError(
            "the disk is full", where=error.filename, hint="free some space, or point TMPDIR at another disk"
        ) from None
    raise BuildError(f"cannot write the module: {error.strerror or error}", where=error.filename) from None
