"""`python -m NAME encode|decode|count FILE|-`: a generated package on the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from gigatok_runtime.encoded import Encoded
from gigatok_runtime.tokenizer import Tokenizer

_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\0": "\0", "\\r": "\r", "\\\\": "\\"}


def main(tokenizer: Tokenizer, arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 0, 1 for input that is refused, 2 for wrong usage."""
    options = _parser(tokenizer.name).parse_args(arguments)
    try:
        options.run(tokenizer, options)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:
        # The reader went away (`| head`). Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except (OSError, ValueError, MemoryError) as error:
        message = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        print(f"{tokenizer.name}: {message}", file=sys.stderr)
        return 1


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=f"The tokenizer {name}.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    encode = commands.add_parser(
        "encode", help="text to ids", description="Write the ids of a text, one line a document."
    )
    _add_text_options(encode)
    _add_output_options(
        encode, "npy: ids alone, with --separator also the offsets, as one .npz; u32: little-endian uint32"
    )
    encode.set_defaults(run=_encode)

    count = commands.add_parser("count", help="number of ids", description="Write the number of ids of a text.")
    _add_text_options(count)
    count.set_defaults(run=_count)

    decode = commands.add_parser("decode", help="ids to text", description="Write the text of ids, byte for byte.")
    decode.add_argument("file", metavar="FILE", help="ids; - for standard input")
    decode.add_argument("--skip-special-tokens", action="store_true", help="leave special tokens out")
    _add_output_options(decode, "of FILE; text: decimal numbers between white space")
    decode.set_defaults(run=_decode)
    return parser


def _add_text_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="text in UTF-8; - for standard input")
    parser.add_argument(
        "--separator", type=_unescape, metavar="TEXT", help=r"what stands between documents (\n \t \0 \r \\ are read)"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="default: one a CPU")
    parser.add_argument("--add-special-tokens", action="store_true", help="with the post-processor's tokens")
    parser.add_argument(
        "--special",
        choices=["match", "text", "error"],
        help="what special tokens in the text are; default: as in the reference",
    )
    parser.add_argument(
        "--errors", choices=["strict", "replace"], default="strict", help="what to do about ill-formed UTF-8"
    )


def _add_output_options(parser: argparse.ArgumentParser, formats: str) -> None:
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="default: standard output")
    parser.add_argument("--format", choices=["text", "npy", "u32"], default="text", help=formats)


def _unescape(text: str) -> str:
    out, at = [], 0
    while at < len(text):
        pair = text[at : at + 2]
        out.append(_ESCAPES.get(pair, text[at]))
        at += 2 if pair in _ESCAPES else 1
    return "".join(out)


def _read_and_encode(tokenizer: Tokenizer, options: argparse.Namespace) -> Encoded:
    settings: dict[str, Any] = {
        "add_special_tokens": options.add_special_tokens,
        "special": options.special,
        "errors": options.errors,
    }
    if options.file == "-":
        return tokenizer.encode_separated(sys.stdin.buffer.read(), options.separator, options.threads, **settings)
    return tokenizer.encode_file(options.file, options.separator, options.threads, **settings)


def _encode(tokenizer: Tokenizer, options: argparse.Namespace) -> None:
    encoded = _read_and_encode(tokenizer, options)
    with _output(options.output) as file:
        if options.format == "u32":
            file.write(encoded.ids.astype("<u4", copy=False).tobytes())
        elif options.format == "npy":
            file.write(_numpy_file(encoded, with_offsets=options.separator is not None))
        else:
            for line in _lines(encoded):
                file.write(line)


def _numpy_file(encoded: Encoded, with_offsets: bool) -> memoryview:
    """A .npy file, or a .npz file with both arrays. In memory first: numpy cannot write to a pipe."""
    buffer = BytesIO()
    if with_offsets:
        np.savez(buffer, ids=encoded.ids, offsets=encoded.offsets)
    else:
        np.save(buffer, encoded.ids)
    return buffer.getbuffer()


def _lines(encoded: Encoded, step: int = 1 << 16) -> Iterator[bytes]:
    """Ids as decimal numbers, one line a document, in parts of a bounded size."""
    bounds = encoded.offsets.tolist()
    for start, end in pairwise(bounds):
        for at in range(start, end, step):
            part = " ".join(map(str, encoded.ids[at : min(at + step, end)].tolist()))
            yield (part if at + step >= end else part + " ").encode()
        yield b"\n"


def _count(tokenizer: Tokenizer, options: argparse.Namespace) -> None:
    print(len(_read_and_encode(tokenizer, options).ids))


def _decode(tokenizer: Tokenizer, options: argparse.Namespace) -> None:
    ids = _read_ids(options.file, options.format)
    with _output(options.output) as file:
        file.write(tokenizer.decode_bytes(ids, options.skip_special_tokens))


def _read_ids(path: str, format: str) -> npt.NDArray[np.integer[Any]]:
    """Ids of a file. Raises ValueError naming what is no number."""
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    if format == "u32":
        if len(data) % 4:
            raise ValueError(f"{path} has {len(data)} bytes, not a multiple of 4")
        return np.frombuffer(data, "<u4")
    if format == "npy":
        loaded = np.load(BytesIO(data), allow_pickle=False)
        array = loaded["ids"] if hasattr(loaded, "files") else loaded
        return np.asarray(array)
    words = data.split()
    try:
        return np.array(words, np.uint32) if words else np.empty(0, np.uint32)
    except (ValueError, OverflowError):
        bad = next((word for word in words if not word.isdigit() or int(word) > 0xFFFFFFFF), words[0])
        raise ValueError(f"{path}: {bad.decode(errors='replace')[:40]!r} is no id") from None


@contextmanager
def _output(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with open(path, "wb") as file:
            yield file
