"""The command line over a stand-in driver: what is passed on, what is printed where, and the exit codes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gigatok_compile
import pytest
from gigatok_compile.cli import main
from gigatok_compile.errors import DefinitionError, PatternError
from gigatok_compile.progress import shown


class StandIn(types.ModuleType):
    """A driver that records its calls and does what a test says."""

    STAGES = ("definition", "tags", "c")

    def __init__(self) -> None:
        super().__init__("gigatok_compile.driver")
        self.calls: list[dict[str, Any]] = []
        self.act: Callable[[Callable[[str, str], None]], None] = lambda report: None

    def compile_definition(
        self, source: str, *, out_dir: Path, report: Callable[[str, str], None], **options: Any
    ) -> Any:
        self.calls.append({"source": source, "out_dir": out_dir, **options})
        report("read", source)
        self.act(report)
        name = options["name"] or "toy"
        return types.SimpleNamespace(
            package=out_dir / name, name=name, explanation="tier: bitstream\n", seconds=1.25, verified="9 cases"
        )

    def dump(self, source: str, stage: str, **options: Any) -> str:
        self.calls.append({"source": source, "stage": stage, **options})
        self.act(lambda stage, detail: None)
        return f"{stage} of {source}\n"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "gigatok_compile.driver", stand_in)
    monkeypatch.setattr(gigatok_compile, "driver", stand_in, raising=False)
    monkeypatch.chdir(tmp_path)
    return stand_in


def raising(error: BaseException) -> Callable[[Any], None]:
    def act(report: Any) -> None:
        raise error

    return act


def test_the_defaults(driver: StandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["gpt2"]) == 0
    assert driver.calls == [
        {
            "source": "gpt2",
            "out_dir": Path(),
            "name": None,
            "grammar": None,
            "verify": True,
            "verify_seconds": None,
            "install": False,
            "keep_c": None,
        }
    ]
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'toy'}  (1.2 s, 9 cases)  import toy\n"
    assert err == "gigatok-compile: read: gpt2\n"


def test_every_option_is_passed_on(driver: StandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = "a.tiktoken -o out --name mine --grammar cl100k --install --no-verify --verify-seconds 1.5 --keep-c src --explain --quiet"
    assert main(arguments.split()) == 0
    assert driver.calls == [
        {
            "source": "a.tiktoken",
            "out_dir": Path("out"),
            "name": "mine",
            "grammar": "cl100k",
            "verify": False,
            "verify_seconds": 1.5,
            "install": True,
            "keep_c": Path("src"),
        }
    ]
    assert capsys.readouterr() == ("tier: bitstream\n", "")


def test_the_last_line_says_how_to_import(driver: StandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["gpt2", "-o", "some/where"])
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .endswith(f"with {tmp_path / 'some/where'} in sys.path (or PYTHONPATH): import toy")
    )
    main(["gpt2", "--install", "--explain"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tier: bitstream"
    assert lines[-1].endswith("installed; import toy")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            DefinitionError("the decoder Fuse is not compiled", where="a.json: decoder", hint="use ByteLevel"),
            "gigatok-compile: a.json: decoder: the decoder Fuse is not compiled\n  hint: use ByteLevel\n",
        ),
        (PatternError("bad", pattern="a(b", start=1), "gigatok-compile: bad\n  a(b\n   ^\n"),
    ],
)
def test_a_refusal_is_exit_code_1(
    driver: StandIn, capsys: pytest.CaptureFixture[str], error: Exception, text: str
) -> None:
    driver.act = raising(error)
    assert main(["a.json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(text)
    assert main(["a.json", "--dump", "tags"]) == 1


def test_an_interrupt_is_exit_code_130(driver: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    driver.act = raising(KeyboardInterrupt())
    assert main(["a.json"]) == 130
    assert "interrupted, nothing was written" in capsys.readouterr().err


def test_defects_are_not_hidden(driver: StandIn) -> None:
    driver.act = raising(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["a.json"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: DEFINITION"),
        (["a", "b"], "unrecognized arguments: b"),
        (["a", "--dump", "nope"], "there is no stage 'nope'; one of definition, tags, c"),
        (["a", "--dump", "c", "--install"], "it writes no module"),
        (["a", "--name", "2x"], "'2x' is not a module name"),
        (["a", "--name", "a-b"], "'a-b' is not a module name"),
        (["a", "--name", "class"], "'class' is not a module name"),
        (["a", "--name", "é"], "'é' is not a module name"),
        (["a", "--name", "json"], "a module called 'json' would hide the standard library's json"),
        (["a", "--name", "numpy"], "a module called 'numpy' would hide the installed numpy"),
        (["a", "--name", "gigatok_runtime"], "would hide the installed gigatok_runtime"),
        (["a", "--name", ""], "'' is not a module name"),
    ],
)
def test_usage_errors_are_exit_code_2(
    driver: StandIn, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
    assert driver.calls == []


def test_a_name_that_hides_a_known_package_is_warned_of(driver: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["a", "--name", "tokenizers", "--quiet"]) == 0
    assert "warning: the module 'tokenizers' hides the package tokenizers" in capsys.readouterr().err


def test_dump_prints_a_stage_and_writes_nothing(
    driver: StandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["a.json", "--dump", "tags", "--grammar", "g", "--name", "n"]) == 0
    assert driver.calls == [{"source": "a.json", "stage": "tags", "grammar": "g", "name": "n"}]
    assert capsys.readouterr().out == "tags of a.json\n"
    assert list(tmp_path.iterdir()) == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_keeps_finished_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with shown(terminal) as report:
        report("read", "[bold]a.json")  # no markup
        report("warning", "something odd")
        report("build", "compiling C")
    text = terminal.getvalue()
    assert "read          [bold]a.json" in text
    assert "build         compiling C" in text
    assert "warning: something odd" in text


def test_progress_elsewhere_is_a_line_a_stage() -> None:
    stream = io.StringIO()
    with shown(stream) as report:
        report("read", "a.json")
        report("warning", "something odd")
    assert stream.getvalue() == "gigatok-compile: read: a.json\ngigatok-compile: warning: something odd\n"


# --- the installed command -----------------------------------------------------------------------------------------------


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gigatok_compile", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        **options,
    )


def test_help_and_version_need_no_compiler() -> None:
    assert run("--version").stdout == f"gigatok-compile {gigatok_compile.__version__}\n"
    shown_help = run("--help")
    assert shown_help.returncode == 0
    for option in (
        "-o",
        "--name",
        "--grammar",
        "--install",
        "--dump",
        "--explain",
        "--no-verify",
        "--quiet",
        "--keep-c",
        "--verify-seconds",
        "--check-grammar",
        "--cases",
        "--text",
    ):
        assert option in shown_help.stdout


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    done = run("none.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "gigatok-compile: none.json: no such file" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gigatok_compile", "gpt2", "--dump", "definition"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 0
    process.stderr.close()


def test_gpt2_end_to_end(tmp_path: Path) -> None:
    """The command of the README, and the module it writes."""
    done = run("gpt2", "--explain", "--keep-c", "sources", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(str(tmp_path / "gpt2"))
    assert "bitstream" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gpt2", "sources"]
    code = "import gpt2; print(gpt2.encode('Hello world').tolist(), gpt2.decode([15496, 995]))"
    for environment in ({}, {"GIGATOK_ENGINE": "regex"}):
        used = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert used.stdout == "[15496, 995] Hello world\n"
