"""Everything known about a tokenizer -> the C files of its module.

The result is one translation unit, `module.c`, that includes plain C headers (copied, so that the folder is complete), the
rendered kernel and the tables' declarations. The tables' data is one binary file that the assembler takes in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gigatok_compile.emit.boundary import render_boundary
from gigatok_compile.emit.environment import make_environment, template_text
from gigatok_compile.emit.tag_tables import bit_tables, tag_tables
from gigatok_compile.emit.utf8_tables import utf8_tables
from gigatok_compile.emit.walk_tables import walk_tables
from gigatok_compile.ir.definition import (
    BpeModel,
    ByteLevelStep,
    MetaspaceStep,
    TokenizerDefinition,
    WordPieceModel,
)
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.ir.split import SplitKernel
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_compile.normalizer.sentencepiece import sentencepiece_constants

SPLITTING_HEADERS = (
    "gigatok.h",
    "common.h",
    "boundary.h",
    "isa_swar.h",
    "isa_avx2.h",
    "isa_avx512.h",
    "isa_neon.h",
    "isa_automaton.h",
    "all_kernels.h",
    "kernel.inc.h",
    "bits.inc.h",
    "walk.h",
    "walk.inc.h",
    "chunk.inc.h",
    "scan.inc.h",
    "cuts.inc.h",
    "kernels.h",
)
"""What the kernels need, with a vocabulary and without."""

HEADERS = (
    *SPLITTING_HEADERS,
    "scratch.h",
    "vocabulary.h",
    "piece.h",
    "merge.h",
    "merge_long.h",
    "wordpiece.h",
    "unigram.h",
    "each_word.h",
    "thread.h",
    "words.h",
    "learn.h",
    "wide_cuts.h",
    "wide_cuts.inc.h",
    "utf8.h",
    "added.h",
    "finder.h",
    "characters.h",
    "form_scan.h",
    "normalize.h",
    "clusters.h",
    "matcher.h",
    "runs.h",
    "passes.h",
    "sentencepiece.h",
    "encode.inc.h",
    "span.inc.h",
    "text.h",
    "parallel.h",
    "decode.h",
    "api.h",
    "pairs.h",
)
SPLITTER_HEADERS = (*SPLITTING_HEADERS, "splitter.h", "splitter_api.h")
PYTHON_HEADERS = (
    "pycall.h",
    "pyarguments.h",
    "pydecode.h",
    "pyfours.h",
    "pymodule.h",
    "pyoutput.h",
    "pytext.h",
    "pyunicode.h",
    "pyutf8.h",
)
TABLES_FILE = "tables.bin"


def kernel_tables(kernel: SplitKernel) -> TableSet:
    """Tables of the splitting kernels."""
    tables = tag_tables(kernel.alphabet, kernel.continuation) | walk_tables(kernel.machine)
    constants = {
        "bitstream": int(kernel.bits is not None),
        "removes": int(kernel.machine.removes),
        "bytes": int(kernel.continuation is not None),
    }
    if kernel.bits is not None:
        tables |= bit_tables(kernel.bits)
    return tables | TableSet(constants=constants)


def definition_tables(definition: TokenizerDefinition) -> TableSet:
    """Tables of what surrounds the model: the ids that a post-processor adds, switches."""
    post = definition.post_processor
    prefixes = [step for step in definition.pre_tokenizer if isinstance(step, ByteLevelStep) and step.add_prefix_space]
    metaspace = next((step for step in definition.pre_tokenizer if isinstance(step, MetaspaceStep)), None)
    by_piece = metaspace is not None and metaspace.by_piece
    scheme = "never" if metaspace is None else metaspace.prepend_scheme
    mark = b"" if metaspace is None else metaspace.replacement.encode()
    templates = [post.single, post.pair or (), post.plain_single, post.plain_pair or ()]
    pieces = [
        number
        for template in templates
        for piece in template
        for number in (" AB".index(piece.source or " "), piece.id, piece.type_id)
    ]
    return TableSet(
        tables=(
            Table("mark", np.frombuffer(mark, dtype=np.uint8), "what Metaspace puts for a space"),
            Table("prefix_ids", np.array(post.prefix, dtype=np.uint32), "ids before a text with add_special_tokens"),
            Table("suffix_ids", np.array(post.suffix, dtype=np.uint32), "ids after it"),
            Table(
                "template_pieces", np.array(pieces, np.uint32), "the templates' pieces: which text or 0, id, type id"
            ),
            Table(
                "template_starts",
                np.cumsum([0, *map(len, templates)]).astype(np.uint32),
                "where the pieces begin: of one text, of a pair; without special tokens",
            ),
        ),
        constants={
            "prefix_count": len(post.prefix),
            "suffix_count": len(post.suffix),
            "pairs": int(post.pair is not None),
            "add_prefix_space": int(bool(prefixes) or (scheme != "never" and not by_piece)),
            "prefix_first": int(scheme == "first"),
            "metaspace": int(metaspace is not None and not by_piece),
            "marked_pieces": int(by_piece),
            "prefixed_pieces": int(by_piece and scheme == "always"),
            "mark_length": len(mark),
            "ignore_merges": int(isinstance(definition.model, BpeModel) and definition.model.ignore_merges),
            "wordpiece": int(isinstance(definition.model, WordPieceModel)),
            "unigram": int(isinstance(definition.model, UnigramModel)),
        }
        | sentencepiece_constants(next((s for s in definition.normalizer if s.kind == "SentencePiece"), None)),
    )


def render_module(definition: TokenizerDefinition, kernel: SplitKernel, tables: TableSet) -> dict[str, str | bytes]:
    """File name -> contents. The same definition gives the same bytes everywhere."""
    files = _kernel_files((*HEADERS, *PYTHON_HEADERS), kernel, tables | utf8_tables())
    files["module.c"] = (
        make_environment()
        .get_template("module.c.j2")
        .render(
            name=definition.name,
            sha256=definition.sha256,
            reference=definition.reference,
            steps=[step.step for step in kernel.steps],
        )
    )
    return files


def render_splitter(name: str, kernel: SplitKernel) -> dict[str, str | bytes]:
    """The same kernels as a library of their own, for a grammar without a vocabulary: file name -> contents."""
    files = _kernel_files(SPLITTER_HEADERS, kernel, kernel_tables(kernel))
    files["splitter.c"] = (
        make_environment().get_template("splitter.c.j2").render(name=name, steps=[step.step for step in kernel.steps])
    )
    return files


def _kernel_files(headers: Sequence[str], kernel: SplitKernel, tables: TableSet) -> dict[str, str | bytes]:
    """Plain headers, the rendered kernel, and the tables."""
    data, declarations = _lay_out(tables)
    files: dict[str, str | bytes] = {name: template_text(name) for name in headers}
    files |= tables.files
    files["boundary.inc.h"] = render_boundary(kernel.bits) if kernel.bits is not None else "/* no bit program */\n"
    files["tables.h"] = (
        make_environment()
        .get_template("tables.h.j2")
        .render(
            tables=declarations,
            constants=[(name.upper(), value) for name, value in tables.constants.items()],
            file=TABLES_FILE,
        )
    )
    files[TABLES_FILE] = data
    return files


def _lay_out(tables: TableSet) -> tuple[bytes, list[dict[str, object]]]:
    """The tables one after the other, aligned, and where each lies. Empty ones take one zero entry: C has no empty arrays."""
    data = bytearray()
    declarations: list[dict[str, object]] = []
    for table in tables.tables:
        values = table.data if table.data.size else np.zeros(1, dtype=table.data.dtype)
        data += bytes(-len(data) % table.align)
        raw = values.astype(values.dtype.newbyteorder("<")).tobytes()
        declarations.append(
            {
                "name": table.name,
                "c_type": table.c_type,
                "count": values.size,
                "offset": len(data),
                "bytes": len(raw),
                "comment": table.comment,
            }
        )
        data += raw
    data += bytes(64)  # vector loads of the last entries stay inside
    return bytes(data), declarations
