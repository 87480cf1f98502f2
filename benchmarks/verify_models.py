"""Compile every definition of the shared folder and compare it with its reference engine on every corpus.

    python benchmarks/verify_models.py                          everything (some hours)
    python benchmarks/verify_models.py --models llama2 gemma3 --bytes 200000

Ids without and with special tokens, whole and by document, and the text that ids decode to. The reference of a tokenizer.json
is tokenizers, of a rank file and a tekken.json tiktoken, of a `.model` sentencepiece. A line a model goes to the table
(--table), and everything to a JSON file (--out), which later runs add to. Each model has a process of its own.
"""

from __future__ import annotations

import argparse
import base64
import importlib
import json
import lzma
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.materials import shared_folder

GRAMMARS = {
    "cl100k_base": "cl100k",
    "o200k_base": "o200k",
    "r50k_base": "r50k",
    "whisper_multilingual": "whisper",
    "llama4": "llama4",
    "qwen3_6": "qwen3.6",
}
"""Rank files, and the grammar that each goes with."""
SEPARATOR = "<|endoftext|>"


class Reference(NamedTuple):
    """encode(texts, add_special_tokens) -> ids of each; decode(ids) -> text. special: it can put special tokens round a text.
    options: for our calls, so that special tokens in the text are treated as the reference treats them."""

    name: str
    encode: Callable[[Sequence[str], bool], list[list[int]]]
    decode: Callable[[list[int]], str]
    special: bool
    options: dict[str, Any]


def tokenizers_reference(path: Path) -> Reference:
    import tokenizers

    engine = tokenizers.Tokenizer.from_file(str(path))
    engine.no_truncation()
    engine.no_padding()

    def encode(texts: Sequence[str], special: bool) -> list[list[int]]:
        return [e.ids for e in engine.encode_batch_fast(list(texts), add_special_tokens=special)]

    return Reference(
        f"tokenizers {tokenizers.__version__}",
        encode,
        lambda ids: str(engine.decode(ids, skip_special_tokens=False)),
        True,
        {"special": "match"},
    )


def tiktoken_reference(path: Path, pattern: str, offset: int) -> Reference:
    """Ranks of a file; of a tekken.json the ids are ranks and the number of special tokens."""
    import tiktoken

    data = path.read_bytes()
    if path.suffix == ".json":
        file = json.loads(data)
        used = file["config"]["default_vocab_size"] - file["config"]["default_num_special_tokens"]
        ranks = {base64.b64decode(t["token_bytes"]): t["rank"] for t in file["vocab"][:used]}
    else:
        lines = [line.split() for line in data.splitlines() if line.strip() and not line.startswith(b"=")]
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    engine = tiktoken.Encoding("model", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def encode(texts: Sequence[str], special: bool) -> list[list[int]]:
        return [[i + offset for i in ids] for ids in engine.encode_ordinary_batch(list(texts), num_threads=1)]

    return Reference(
        f"tiktoken {tiktoken.__version__}",
        encode,
        lambda ids: engine.decode([i - offset for i in ids]),
        False,
        {"special": "text"},
    )


def sentencepiece_reference(path: Path) -> Reference:
    import sentencepiece

    engine = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return Reference(
        f"sentencepiece {sentencepiece.__version__}",
        lambda texts, special: engine.encode(list(texts)),
        lambda ids: str(engine.decode(ids)),
        False,
        {},
    )


def reference_of(name: str, path: Path) -> Reference:
    from gigatok_compile.grammars.registry import load_grammar

    if path.suffix == ".model":
        return sentencepiece_reference(path)
    if path.name.startswith("tekken"):
        config = json.loads(path.read_bytes())["config"]
        return tiktoken_reference(path, config["pattern"], config["default_num_special_tokens"])
    if path.suffix == ".tiktoken":
        (pattern,) = load_grammar(GRAMMARS[name]).patterns
        return tiktoken_reference(path, pattern, 0)
    return tokenizers_reference(path)


def definitions(shared: Path) -> list[tuple[str, Path]]:
    """Models and their packed definition files."""
    found = sorted((shared / "models").glob("*/*.xz"))
    return [(path.parent.name, path) for path in found if path.parent.name != "llama_cpp_vectors"]


def verify(name: str, packed: Path, size: int | None, folder: Path) -> dict[str, Any]:
    """One model: what it is compiled to, and what differs."""
    from gigatok_compile.driver import compile_definition
    from gigatok_compile.errors import CompileError

    path = folder / packed.stem
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    row: dict[str, Any] = {"model": name, "file": packed.stem}
    began = time.process_time()
    package = "m_" + name
    try:
        compile_definition(str(path), out_dir=folder, name=package, grammar=GRAMMARS.get(name), verify=False)
    except CompileError as error:
        return row | {"refused": str(error).splitlines()[0].split(": ", 1)[-1]}
    row["compile_seconds"] = round(time.process_time() - began, 1)
    row["package_bytes"] = sum(f.stat().st_size for f in (folder / package).rglob("*") if f.is_file())
    sys.path.insert(0, str(folder))
    module = importlib.import_module(package)
    manifest = module.tokenizer.manifest
    row |= {
        "engine": manifest["engine"],
        "tiers": sorted({tier["tier"] for tier in manifest["tiers"]}),
        "normalizer": [step["kind"] for step in manifest["normalizer"]],
        "pre_tokenizer": [(step.get("component") or step["kind"]).split("(")[0] for step in manifest["pre_tokenizer"]],
        "decoder": manifest.get("decoder_engine"),
    }
    reference = reference_of(name, path)
    row["reference"] = reference.name
    row |= dict.fromkeys(("bytes", "ids", "different", "different_text"), 0)
    for corpus in sorted((packed.parent.parent.parent / "corpora").glob("*.txt.xz")):
        text = lzma.decompress(corpus.read_bytes())[:size].decode(errors="ignore")
        compare(module, reference, text, row)
    return row


def compare(module: Any, reference: Reference, text: str, row: dict[str, Any]) -> None:
    """Documents of one corpus, and some of them in one piece; adds to the counts of `row`."""
    documents = [document for document in text.split(f"\n{SEPARATOR}\n") if document]
    documents.append("\n\n".join(documents)[:100_000])
    row["bytes"] += len(text.encode())
    for special in (False, True) if reference.special else (False,):
        got = module.encode_batch(documents, 1, add_special_tokens=special, **reference.options)
        expected = reference.encode(documents, special)
        for number, ids in enumerate(expected):
            ours = got.ids[got.offsets[number] : got.offsets[number + 1]].tolist()
            row["ids"] += len(ids)
            row["different"] += ours != ids
            if not special and number % 4 == 0:
                row["different_text"] += module.decode(ids) != reference.decode(ids)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| model | file | reference | runs on | normalizer | pre-tokenizer | compile s | package MB | verified MB | ids | differ |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "refused" in row:
            lines.append(f"| {row['model']} | {row['file']} | | refused: {row['refused']} | | | | | | | |")
            continue
        tier = row["engine"] if row["engine"] == "regex" else ", ".join(row["tiers"])
        steps = ", ".join(dict.fromkeys(row["pre_tokenizer"])) or "none"
        lines.append(
            f"| {row['model']} | {row['file']} | {row['reference']} | {tier} | {', '.join(row['normalizer']) or 'none'} | {steps}"
            f" | {row['compile_seconds']} | {row['package_bytes'] / 1e6:.1f} | {row['bytes'] / 1e6:.1f} | {row['ids']:,}"
            f" | {row['different']} ids, {row['different_text']} texts |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", help="only these")
    parser.add_argument("--bytes", type=int, help="at most this much of each corpus")
    parser.add_argument("--out", type=Path, help="JSON file of results; what it holds of other models stays")
    parser.add_argument("--table", action="store_true", help="print all results of --out as a table, run nothing")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        with tempfile.TemporaryDirectory(prefix="gigatok-models-") as folder:
            row = verify(arguments.one[0], Path(arguments.one[1]), arguments.bytes, Path(folder))
        print(json.dumps(row))
        return
    known = json.loads(arguments.out.read_text()) if arguments.out and arguments.out.exists() else []
    if arguments.table:
        print(table(known), end="")
        return
    shared = shared_folder()
    if shared is None:
        raise SystemExit(
            "the definitions are in the shared folder ($GIGATOK_SHARED, or `shared` beside the repository)"
        )
    for name, path in definitions(shared):
        if arguments.models and name not in arguments.models:
            continue
        command = [sys.executable, __file__, "--one", name, str(path)]
        if arguments.bytes:
            command += ["--bytes", str(arguments.bytes)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(
                f"{name}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}",
                flush=True,
            )
            continue
        row = json.loads(done.stdout.splitlines()[-1])
        print(table([row]).splitlines()[-1], flush=True)
        known = [r for r in known if (r["model"], r["file"]) != (row["model"], row["file"])] + [row]
        if arguments.out:
            known.sort(key=lambda r: (r["model"], r["file"]))
            arguments.out.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
