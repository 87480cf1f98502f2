"""A generated package from outside: import, environment, attributes, pickling, files, and the command line."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gigatok_compile.ir.definition import TokenizerDefinition
from gigatok_runtime import InvalidUtf8Error, SpecialTokenError, Tokenizer
from gigatok_runtime.manifest import FORMAT

ImportAfresh = Callable[..., ModuleType]


def test_the_calls_are_the_c_functions_themselves(stub: ModuleType) -> None:
    for name in ("encode", "encode_batch", "count", "decode", "decode_batch", "decode_bytes"):
        assert type(getattr(stub, name)) is type(len), name
        assert getattr(stub, name).__doc__
    import inspect

    assert str(inspect.signature(stub.encode)) == (
        "(text, *, pair=None, add_special_tokens=False, special=None, errors='strict', threads=1)"
    )


def test_attributes(either: ModuleType, stub_definition: TokenizerDefinition) -> None:
    tokenizer = either.tokenizer
    assert isinstance(tokenizer, Tokenizer) and tokenizer is either.tokenizer
    assert either.manifest["definition_sha256"] == stub_definition.sha256
    assert either.__version__ == either.manifest["version"] and stub_definition.sha256[:12] in either.__version__
    assert (len(tokenizer), tokenizer.n_vocab, tokenizer.max_id, tokenizer.eot_token) == (258, 258, 257, None)
    assert tokenizer.special_tokens == {"<|end|>": 256}
    assert tokenizer.token_to_id("<tool>") == tokenizer.token_to_id(b"<tool>") == 257
    assert tokenizer.token_to_id("a") == tokenizer.token_to_id(bytearray(b"a")) == 97
    assert tokenizer.token_to_id("é") is tokenizer.token_to_id("") is tokenizer.token_to_id(b"\xff\xff") is None
    assert tokenizer.token_to_id(b"\xff") == 255
    assert [tokenizer.id_to_token(i) for i in (97, 257, 258, -1, 1 << 40)] == [b"a", b"<tool>", None, None, None]
    assert dict(tokenizer.vocabulary())[256] == b"<|end|>" and len(dict(tokenizer.vocabulary())) == 258
    assert {"tokenizer", "manifest", "encode"} <= set(dir(either))
    with pytest.raises(AttributeError, match="module 'stub_tok' has no attribute 'nonsense'"):
        _ = either.nonsense
    assert "<Tokenizer stub_tok: 258 tokens, engine" in repr(tokenizer)


def test_tokenizer_calls_are_the_module_calls(either: ModuleType) -> None:
    tokenizer = either.tokenizer
    text = "a<|end|>é"
    assert tokenizer.encode(text, special="text").tolist() == either.encode(text, special="text").tolist()
    assert tokenizer.encode_batch([text], 1, add_special_tokens=True).ids.tolist() == [256, 97, 256, 195, 169]
    assert (
        tokenizer.count(text) == 4 and tokenizer.decode([97, 256], True) == "a" and tokenizer.decode_bytes([97]) == b"a"
    )
    parts = tokenizer.encode_separated(b"a|bc||d|", "|")
    assert parts.ids.tolist() == [97, 98, 99, 100] and parts.offsets.tolist() == [0, 1, 3, 3, 4]


def test_tokenizers_pickle_as_their_package(stub: ModuleType) -> None:
    assert pickle.loads(pickle.dumps(stub.tokenizer)) is stub.tokenizer


def test_engine_and_kernels_are_chosen_by_environment(stub_directory: Path, import_afresh: ImportAfresh) -> None:
    assert import_afresh(stub_directory, "stub_tok").tokenizer.engine == "native"
    assert import_afresh(stub_directory, "stub_tok", GIGATOK_ISA="slow").tokenizer.isa == "slow"
    best = import_afresh(stub_directory, "stub_tok")._module.engine.isas[0]
    assert import_afresh(stub_directory, "stub_tok", GIGATOK_ISA=best).tokenizer.isa == best
    regex = import_afresh(stub_directory, "stub_tok", GIGATOK_ENGINE="regex").tokenizer
    assert (regex.engine, regex.isa) == ("regex", "regex")
    with pytest.raises(ValueError, match="GIGATOK_ENGINE is 'turbo'; it must be 'native' or 'regex'"):
        import_afresh(stub_directory, "stub_tok", GIGATOK_ENGINE="turbo")
    with pytest.raises(
        ValueError,
        match=r"GIGATOK_ISA: no kernel set 'mmx' here; this CPU and build have: ((avx512 )?avx2 |neon )?slow",
    ):
        import_afresh(stub_directory, "stub_tok", GIGATOK_ISA="mmx")


def test_a_package_without_a_library(stub_directory: Path, tmp_path: Path, import_afresh: ImportAfresh) -> None:
    package = tmp_path / "stub_tok"
    package.mkdir()
    for file in (stub_directory / "stub_tok").iterdir():
        if file.is_file() and not file.name.startswith("_native"):
            (package / file.name).write_bytes(file.read_bytes())
    with pytest.raises(
        ImportError, match=r"stub_tok has no library for this Python and platform: none of _native.*regex engine"
    ):
        import_afresh(tmp_path, "stub_tok")
    assert import_afresh(tmp_path, "stub_tok", GIGATOK_ENGINE="regex").encode("a").tolist() == [97]
    (package / "manifest.json").write_text('{"gigatok": 99}')
    told = f"has format 99, this gigatok_runtime reads {FORMAT}; compile the module again"
    with pytest.raises(ImportError, match=told):
        import_afresh(tmp_path, "stub_tok", GIGATOK_ENGINE="regex")


def run_python(code: str, directory: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=directory,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_import_is_cheap(stub_directory: Path) -> None:
    code = (
        "import sys, time, numpy, numpy.typing\n"
        "before = set(sys.modules); t = time.perf_counter()\n"
        "import stub_tok\n"
        "print(time.perf_counter() - t)\n"
        "stub_tok.encode('abc', special='text'); stub_tok.encode_batch(['a', b'b']); stub_tok.decode([1])\n"
        "heavy = {'regex', 'json', 'cffi', '_cffi_backend', 'argparse', 'zipfile', 'dataclasses', 'gigatok_compile'}\n"
        "print(sorted(set(sys.modules) & heavy - before))"
    )
    runs = [run_python(code, stub_directory).splitlines() for _ in range(3)]
    took = min(float(seconds) for seconds, _ in runs)
    assert took < 0.02, f"import took {took} s over numpy"
    assert {loaded for _, loaded in runs} == {"[]"}


def test_runtime_never_loads_the_compiler(stub_directory: Path) -> None:
    code = (
        "import sys, stub_tok\n"
        "stub_tok.tokenizer.encode('a', special={'<|end|>'}); stub_tok.manifest\n"
        "import gigatok_runtime.command, gigatok_runtime.regex_engine\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('gigatok_compile', 'jinja2', 'lark', 'cffi')])"
    )
    for engine in ("native", "regex"):
        assert run_python(code, stub_directory, GIGATOK_ENGINE=engine) == "[]"


# Files


def test_files_in_parts(either: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "text"
    for data, separator, texts in (
        (b"", None, [b""]),
        (b"", "\n", []),
        (b"ab\ncd\n", None, [b"ab\ncd\n"]),
        (b"ab\ncd\n", "\n", [b"ab", b"cd"]),
        (b"ab\n\ncd", b"\n", [b"ab", b"", b"cd"]),
        (b"\n", "\n", [b""]),
        ("aé—é—".encode(), "—", ["aé".encode(), "é".encode()]),
        (b"x<|end|>y<|end|>", "<|end|>", [b"x", b"y"]),
        (b"aaa", "aa", [b"", b"a"]),
        (b"word " * 100_000, None, [b"word " * 100_000]),
    ):
        path.write_bytes(data)
        for threads in (None, 1, 3):
            ids, offsets = either.encode_file(path, separator, threads)
            assert offsets.tolist() == [0, *np.cumsum([len(t) for t in texts]).tolist()]
            assert ids.tolist() == list(b"".join(texts))
    assert either.encode_file(str(path), add_special_tokens=True).ids[0] == 256


def test_files_that_cannot_be_read(either: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        either.encode_file(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        either.encode_file(tmp_path)
    path = tmp_path / "bad"
    path.write_bytes(b"ok\nb\xffd\n")
    with pytest.raises(InvalidUtf8Error, match=r"^text is not well-formed UTF-8 at byte 4"):
        either.encode_file(path)
    with pytest.raises(InvalidUtf8Error, match=r"^text is not well-formed UTF-8 at byte 4"):
        either.encode_file(path, "\n")
    path.write_bytes("é\nx<|end|>\n".encode())
    with pytest.raises(SpecialTokenError, match=r"'<\|end\|>' \(text at byte 4\)"):
        either.encode_file(path, "\n", special="error")
    path.write_bytes(b"ok\nb\xffd\n")
    assert either.encode_file(path, "\n", errors="replace").ids.tolist() == list("okb\ufffdd".encode())
    with pytest.raises(ValueError, match="separator must not be empty"):
        either.encode_file(path, "")
    with pytest.raises(TypeError, match="separator must be str, bytes or None, not int"):
        either.encode_file(path, 10)


def test_pipes_are_read(either: ModuleType) -> None:
    read, write = os.pipe()
    os.write(write, b"ab\ncd")
    os.close(write)
    try:
        assert either.encode_file(f"/dev/fd/{read}", "\n").offsets.tolist() == [0, 2, 4]
    finally:
        os.close(read)


# The command line


Command = Callable[..., Any]


@pytest.fixture(scope="module")
def command(stub_directory: Path) -> Command:
    def run(*arguments: str, stdin: bytes = b"", check: int = 0, engine: str = "native") -> bytes | str:
        done = subprocess.run(
            [sys.executable, "-m", "stub_tok", *arguments],
            cwd=stub_directory,
            env=os.environ | {"GIGATOK_ENGINE": engine},
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == check, done.stderr.decode()
        assert b"Traceback" not in done.stderr
        return done.stdout if not check else done.stderr.decode()

    return run


def test_command_encodes_and_decodes(command: Command, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes("Hé!\n".encode())
    for engine in ("native", "regex"):
        assert command("encode", str(text), engine=engine) == b"72 195 169 33 10\n"
    assert command("encode", "-", stdin=b"Hi") == b"72 105\n"
    assert command("encode", "-", "--separator", r"\n", stdin=b"Hi\n\nyou\n") == b"72 105\n\n121 111 117\n"
    assert command("encode", "-", "--add-special-tokens", "--special", "text", stdin=b"<|e") == b"256 60 124 101\n"
    assert command("encode", "-", "--errors", "replace", "--threads", "2", stdin=b"\xff") == b"239 191 189\n"
    assert command("count", str(text)) == b"5\n"
    assert command("count", "-", "--separator", r"\0", stdin=b"ab\0c") == b"3\n"
    assert command("decode", "-", stdin=b"72 195\n169 \t 256") == "Hé<|end|>".encode()
    assert command("decode", "-", "--skip-special-tokens", stdin=b"72 256") == b"H"
    assert command("decode", "-", stdin=b" \n") == b""


def test_command_formats(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    raw = command("encode", "-", "--format", "u32", stdin=b"Hi")
    assert np.frombuffer(raw, "<u4").tolist() == [72, 105]
    array = np.load(io.BytesIO(command("encode", "-", "--format", "npy", stdin=b"Hi")))
    assert array.dtype == np.uint32 and array.tolist() == [72, 105]
    assert command("encode", "-", "--format", "npy", "--separator", "|", "-o", str(out), stdin=b"H|i") == b""
    both = np.load(out)
    assert both["ids"].tolist() == [72, 105] and both["offsets"].tolist() == [0, 1, 2]
    assert command("decode", str(out), "--format", "npy") == b"Hi"
    assert command("decode", "-", "--format", "u32", "-o", str(out), stdin=raw) == b"" and out.read_bytes() == b"Hi"


def test_command_round_trips_what_is_large(command: Command, tmp_path: Path) -> None:
    data = b"a line of text\n" * 20_000
    ids = tmp_path / "ids"
    command("encode", "-", "-o", str(ids), stdin=data)
    assert command("decode", str(ids)) == data


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "message"),
    [
        (("encode", "no such file"), b"", 1, "stub_tok: no such file: No such file or directory"),
        (("encode", "-"), b"ab\xff", 1, "stub_tok: text is not well-formed UTF-8 at byte 2"),
        (("encode", "-", "--special", "error"), b"<|end|>", 1, "disallowed special token '<|end|>'"),
        (("encode", "-", "--separator", ""), b"x", 1, "separator must not be empty"),
        (("encode", "-", "--threads", "0"), b"x", 1, "threads must be at least 1"),
        (("decode", "-"), b"12 x7 3", 1, "stub_tok: -: 'x7' is no id"),
        (("decode", "-"), b"12 -7 3", 1, "stub_tok: -: '-7' is no id"),
        (("decode", "-"), b"12 4294967296", 1, "stub_tok: -: '4294967296' is no id"),
        (("decode", "-", "--format", "u32"), b"123", 1, "has 3 bytes, not a multiple of 4"),
        (("decode", "-", "--format", "npy"), b"123", 1, "stub_tok: "),
        ((), b"", 2, "COMMAND"),
        (("encode",), b"", 2, "FILE"),
        (("encode", "-", "--format", "xml"), b"", 2, "invalid choice: 'xml'"),
        (("encode", "-", "-o", "/nonexistent/out"), b"x", 1, "/nonexistent/out: No such file or directory"),
    ],
)
def test_command_says_what_is_wrong(
    command: Command, arguments: tuple[str, ...], stdin: bytes, status: int, message: str
) -> None:
    assert message in command(*arguments, stdin=stdin, check=status)


def test_command_survives_a_closed_pipe(stub_directory: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"x" * 3_000_000)
    script = f"'{sys.executable}' -m stub_tok encode '{text}' | head -c 10"
    done = subprocess.run(["sh", "-c", script], cwd=stub_directory, capture_output=True, check=True)
    assert done.stdout == b"120 120 12" and done.stderr == b""
