"""build_module on a toy library, and every way in which the world outside can fail it."""

from __future__ import annotations

import errno
import importlib.util
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from gigatok_compile import build
from gigatok_compile.build import build_module
from gigatok_compile.errors import BuildError

TOY: dict[str, str | bytes] = {
    "gigatok.h": "int toy_add(int a, int b);\nint toy_table(int i);\nconst char *toy_where(void);\n",
    "toy.c": '#include "gigatok.h"\n#include "parts/inner.h"\nint toy_add(int a, int b) { return INNER(a, b); }\n',
    "parts/inner.h": "#define INNER(a, b) ((a) + (b))\n",
    "table.c": '#include "gigatok.h"\n__asm__(".section .rodata\\ntable: .incbin \\"table.bin\\"\\n.previous");\n'
    "extern const unsigned char table[];\n"
    "int toy_table(int i) { return table[i]; }\nconst char *toy_where(void) { return __FILE__; }\n",
    "table.bin": bytes(range(100, 200)),
}
CDEF = "int toy_add(int a, int b);\nint toy_table(int i);\nconst char *toy_where(void);\n"


def load(library: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, library)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def fake_cc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set CC to a shell script."""

    def use(script: str) -> None:
        path = tmp_path / "fake-cc"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CC", str(path))

    return use


def failure(folder: Path, files: dict[str, str | bytes] = TOY) -> BuildError:
    with pytest.raises(BuildError) as caught:
        build_module(files, folder, "toy", CDEF)
    assert list(folder.glob("*.so")) == []
    return caught.value


def test_a_toy_library_is_built_and_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    package = tmp_path / "pack age"
    package.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.chdir(tmp_path)  # relative package_dir
    library = build_module(TOY, Path("pack age"), "toys._native", CDEF, extra_flags=["-Werror"])
    assert library == Path("pack age") / ("_native" + sysconfig.get_config_var("EXT_SUFFIX"))
    assert sorted(os.listdir(package)) == [library.name]
    assert os.listdir(temporary) == []
    lib = load(package / library.name, "toys._native").lib
    assert lib.toy_add(2, 3) == 5
    assert [lib.toy_table(i) for i in (0, 99)] == [100, 199]


def test_the_build_folder_does_not_show(tmp_path: Path) -> None:
    """Two builds of the same sources are the same bytes, wherever the temporary folder was."""
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        build_module(TOY, folder, "toy", CDEF)
    data = [next(folder.iterdir()).read_bytes() for folder in (first, second)]
    assert data[0] == data[1]
    assert b"gigatok-build-" not in data[0]


def test_only_what_is_exported_is_visible(tmp_path: Path) -> None:
    """A second PyInit function is found; the C interface stays inside."""
    files = {
        "gigatok.h": "int toy_add(int a, int b);\n",
        "toy.c": "#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION\n#include <Python.h>\n#include <numpy/ndarraytypes.h>\n"
        "int toy_add(int a, int b) { return a + b + (int)sizeof(npy_uint32) - 4; }\n"
        'static struct PyModuleDef second = {PyModuleDef_HEAD_INIT, .m_name = "second", .m_size = 0};\n'
        "PyMODINIT_FUNC PyInit_second(void) { return PyModule_Create(&second); }\n",
    }
    library = build_module(files, tmp_path, "first", "int toy_add(int a, int b);", extra_flags=["-Werror"])
    assert load(library, "second").__name__ == "second"
    assert load(library, "first").lib.toy_add(2, 2) == 4
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1] for line in symbols.splitlines()} >= {"PyInit_first", "PyInit_second"}
    assert "toy_add" not in symbols


def test_warnings_are_about_our_sources_only(tmp_path: Path) -> None:
    files = {"gigatok.h": "int f(int a);\n", "toy.c": '#include "gigatok.h"\nint f(int a) { int unused; return 1; }\n'}
    assert build_module(files, tmp_path, "toy", "int f(int a);").exists()  # warned, not failed
    with pytest.raises(BuildError, match="unused"):
        build_module(files, tmp_path, "toy", "int f(int a);", extra_flags=["-Werror"])


def test_errors_of_the_compiler_are_shown_in_part(tmp_path: Path) -> None:
    text = "\n".join(f"int f{i}(void) {{ return missing{i}; }}" for i in range(40))
    error = failure(tmp_path, TOY | {"broken.c": text})
    assert error.where == "broken.c"
    assert "missing0" in error.message
    assert "missing39" not in error.message
    assert len(error.message.splitlines()) == build.SHOWN_LINES + 2
    assert "lines more" in error.message
    assert "gigatok-build-" not in error.message
    assert "--keep-c" in str(error)


def test_errors_of_the_linker_are_shown(tmp_path: Path) -> None:
    error = failure(tmp_path, {**TOY, "extra.c": "int toy_add(int a, int b) { return a - b; }\n"})
    assert error.where == "the library"
    assert "multiple definition" in error.message


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    error = failure(tmp_path)
    assert error.message == "there is no C compiler on this machine"
    assert error.hint is not None
    assert "apt install gcc" in error.hint


def test_a_compiler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    assert "CC is set to 'no-such-compiler -m64'" in str(failure(tmp_path))


def test_python_was_built_by_a_compiler_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    real = sysconfig.get_config_var
    monkeypatch.setattr(
        sysconfig, "get_config_var", lambda name: "/build/bin/gcc-99 -pthread" if name == "CC" else real(name)
    )
    assert build.find_compiler() == ["cc"]


def test_no_python_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"include": str(tmp_path), "platinclude": str(tmp_path)})
    error = failure(tmp_path)
    assert f"no Python.h in {tmp_path}" in error.message
    assert "apt install python3-dev" in str(error)


def test_no_numpy_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numpy.get_include", lambda: str(tmp_path / "none"))
    assert "numpy's headers are not installed" in str(failure(tmp_path))


@pytest.mark.parametrize(
    ("says", "message", "hint"),
    [
        ("/tmp/x.s: fatal error: No space left on device", "the disk is full", "TMPDIR"),
        (
            "gcc: fatal error: cannot execute 'cc1': execvp: No such file or directory",
            "not complete",
            "apt install gcc",
        ),
        ("gcc: error trying to exec 'cc1': execvp: No such file", "not complete", "apt install gcc"),
        ("collect2: fatal error: cannot find 'ld'", "not complete", "apt install gcc"),
        ("toy.c:1:10: fatal error: stdint.h: No such file or directory", "C library's headers", "libc6-dev"),
        ("toy.c:1:10: fatal error: 'string.h' file not found", "C library's headers", "libc6-dev"),
        ("/usr/bin/ld: cannot find crti.o: No such file", "C library's headers", "libc6-dev"),
        ("x.c:3:10: fatal error: Python.h: No such file or directory", "Python's headers", "python3-dev"),
        ("internal compiler error: Segmentation fault", "the C compiler failed", "--keep-c"),
    ],
)
def test_what_the_compiler_says_is_understood(
    tmp_path: Path, fake_cc: Callable[[str], None], says: str, message: str, hint: str
) -> None:
    fake_cc(f'echo "{says}" >&2; exit 1')
    error = failure(tmp_path)
    assert message in error.message
    assert error.hint is not None
    assert hint in error.hint


def test_a_compiler_that_dies(tmp_path: Path, fake_cc: Callable[[str], None]) -> None:
    fake_cc("kill -9 $$")
    assert "killed by signal 9" in str(failure(tmp_path))


def test_a_compiler_that_cannot_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cc").write_bytes(b"\x00not a program")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "cc"))
    assert "the C compiler cannot be run: Exec format error" in str(failure(tmp_path))


def test_a_compiler_that_writes_nothing(tmp_path: Path, fake_cc: Callable[[str], None]) -> None:
    fake_cc("exit 0")
    assert "cannot write the module" in str(failure(tmp_path))


def test_a_full_disk_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    error = failure(tmp_path)
    assert error.message == "the disk is full"
    assert "TMPDIR" in str(error)


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """A file system of 64 KiB, where this process may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a file system here; the case above stands in for it")
    try:
        error = failure(disk, TOY | {"big.c": "const char big[1 << 20] = {1};\n"})
        assert error.message == "the disk is full"
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="cannot write the module"):
        build_module(TOY, tmp_path / "none", "toy", CDEF)


def test_an_interrupt_takes_the_compiler_down(tmp_path: Path, fake_cc: Callable[[str], None]) -> None:
    """Ctrl-C while the compiler runs: it is stopped, and the build folder goes."""
    marker = tmp_path / "started"
    fake_cc(f"echo $$ >> {marker}; exec sleep 60")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = f"from tests_toy import TOY, CDEF\nfrom pathlib import Path\nfrom gigatok_compile.build import build_module\nbuild_module(TOY, Path({str(tmp_path)!r}), 'toy', CDEF)"
    (tmp_path / "tests_toy.py").write_text(f"TOY = {TOY!r}\nCDEF = {CDEF!r}\n")
    environment = os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not (marker.exists() and marker.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=10)
    assert os.listdir(temporary) == []
    for number in marker.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)
