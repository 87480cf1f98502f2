"""templates/added.h against the reference engines: the same segments and ids, on every vector unit."""

from __future__ import annotations

import ctypes
import json
import random
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import AddedToken, NormalizerStep
from gigatok_compile.normalizer import normalize_function
from gigatok_compile.unicode import property_ranges
from gigatok_compile.vocabulary.added_tokens import AddedTokenPlan, finder_masks, plan_added_tokens
from hypothesis import assume, example, given
from hypothesis import strategies as st

tokenizers = pytest.importorskip("tokenizers")
tiktoken = pytest.importorskip("tiktoken")
harness = runpy.run_path(str(Path(__file__).with_name("kernel_harness.py")))
LEVELS = harness["vector_levels"]()
TEXT, MATCH, ERROR = 0, 1, 2
NFC = normalize_function([NormalizerStep("NFC", "normalizer")])
ALPHABET = "abcxy<|>_0 \t\n-éë\u0301\u0308\u2003\u3000中"

# One library for all token sets: the tables are filled in at run time.
SOURCE = r"""
#include <stdint.h>
#define SIZE 65536
uint32_t gt_added_ids[SIZE], gt_added_words[SIZE];
uint8_t gt_added_flags[SIZE];
uint8_t gt_added0_finder[98], gt_added1_finder[98], gt_added0_labels[SIZE], gt_added1_labels[SIZE];
uint32_t gt_added0_root[256], gt_added1_root[256], gt_added0_children[SIZE], gt_added1_children[SIZE];
int32_t gt_added0_tokens[SIZE], gt_added1_tokens[SIZE];
int test_words_count, test_exclusive;
#define GT_ADDED_COUNT 1
#define GT_ADDED_RUNS 0
#define GT_ADDED0_COUNT 1
#define GT_ADDED1_COUNT 1
#define GT_ADDED_WORDS_COUNT test_words_count
#define GT_ADDED_EXCLUSIVE test_exclusive
#define GT_ADDED_RUNS 0
#include "added.h"
#include <stdlib.h>

/* Rows of (start, stop, added token or -1, mode); how many. */
extern int64_t segments(const uint8_t *p, size_t n, int pass, const uint8_t *modes, int64_t *rows);
int64_t segments(const uint8_t *p, size_t n, int pass, const uint8_t *modes, int64_t *rows) {
  gt_added_cursor cursor;
  gt_added_match match;
  int64_t count = 0;
#define ROW(a, b, c, d) (rows[4 * count] = (a), rows[4 * count + 1] = (b), rows[4 * count + 2] = (c), rows[4 * count + 3] = (d), count++)
  gt_added_begin(&cursor, p, p + n);
  while (gt_added_next(&cursor, pass, modes, &match)) {
    if (match.text < match.cut_start) ROW(match.text - p, match.cut_start - p, -1, 0);
    if (match.id != gt_added_ids[match.index]) abort();
    ROW(match.cut_start - p, match.cut_stop - p, match.index, match.mode);
  }
  if (cursor.text < cursor.end) ROW(cursor.text - p, cursor.end - p, -1, 0);
  return count;
}
extern int64_t forbidden(const uint8_t *p, size_t n, const uint8_t *modes);
int64_t forbidden(const uint8_t *p, size_t n, const uint8_t *modes) {
  gt_added_match match;
  return gt_added_forbidden(p, p + n, 0, modes, &match) ? match.start - p : -1;
}
"""


class Matcher:
    """Both passes of a plan, through C."""

    library: ctypes.CDLL | None = None

    def __init__(self, plan: AddedTokenPlan, normalize: Callable[[str], str]) -> None:
        if Matcher.library is None:
            Matcher.library = harness["build"](SOURCE)
            Matcher.library.segments.restype = Matcher.library.forbidden.restype = ctypes.c_int64
            Matcher.library.segments.argtypes = [
                ctypes.c_char_p,
                ctypes.c_size_t,
                ctypes.c_int,
                ctypes.c_char_p,
                ctypes.c_void_p,
            ]
            Matcher.library.forbidden.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
        self.normalize = normalize
        for table in plan.tables.tables:
            assert table.data.size <= 65536
            target = (ctypes.c_char * max(1, table.data.nbytes)).in_dll(Matcher.library, "gt_" + table.name)
            ctypes.memmove(target, table.data.tobytes(), table.data.nbytes)
        ctypes.c_int.in_dll(Matcher.library, "test_words_count").value = plan.tables.constants["added_words_count"]
        ctypes.c_int.in_dll(Matcher.library, "test_exclusive").value = plan.tables.constants["added_exclusive"]

    def segments(self, text: str, number: int, modes: bytes | None, level: int) -> list[tuple[str, int, int]]:
        """(text, added token or -1, mode) of every segment of one pass."""
        data = text.encode()
        rows = self.rows(data, number, modes, level).tolist()
        return [(data[a:b].decode(), index, mode) for a, b, index, mode in rows]

    def rows(self, data: bytes, number: int, modes: bytes | None, level: int) -> npt.NDArray[np.int64]:
        """(n, 4) int64: start, stop, added token or -1, mode."""
        assert Matcher.library is not None
        harness["set_level"](Matcher.library, level)
        rows = np.empty((2 * len(data) + 2, 4), np.int64)
        count = Matcher.library.segments(data, len(data), number, modes, rows.ctypes.data)
        return rows[:count]

    def whole(self, text: str, modes: bytes | None, level: int) -> list[tuple[str, int]]:
        """(text, added token or -1) after both passes, plain text a character at a time."""
        out: list[tuple[str, int]] = []
        for piece, index, _ in self.segments(text, 0, modes, level):
            if index >= 0:
                out.append((piece, index))
                continue
            for inner, token, _ in self.segments(self.normalize(piece), 1, modes, level):
                out += [(inner, token)] if token >= 0 else [(c, -1) for c in inner]
        return out

    def forbidden(self, text: str, modes: bytes, level: int) -> int:
        assert Matcher.library is not None
        harness["set_level"](Matcher.library, level)
        return int(Matcher.library.forbidden(text.encode(), len(text.encode()), modes))


def reference(
    tokens: Sequence[AddedToken], text: str, *, nfc: bool, special_as_text: bool
) -> list[tuple[str, int]] | None:
    """What tokenizers makes of `text` over a vocabulary of single characters; None where it panics."""
    plain = {c: i for i, c in enumerate(sorted(set(NFC(text) + text)))}
    engine = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab=plain | {"[UNK]": len(plain)}, merges=[], unk_token="[UNK]")
    )
    if nfc:
        engine.normalizer = tokenizers.normalizers.NFC()
    numbers: dict[int, int] = {}
    for number, token in enumerate(tokens):
        flags = {name: getattr(token, name) for name in ("single_word", "lstrip", "rstrip", "normalized")}
        added = tokenizers.AddedToken(token.content, special=token.special, **flags)
        (engine.add_special_tokens if token.special else engine.add_tokens)([added])
        if token.content:
            numbers.setdefault(engine.token_to_id(token.content), number)
    engine.encode_special_tokens = special_as_text
    try:
        found = engine.encode(text, add_special_tokens=False)
    except BaseException as error:  # noqa: BLE001  pyo3's PanicException is no Exception
        assert type(error).__name__ == "PanicException", error
        return None
    # A token that is a single character has that character's id: spell those out by id on both sides.
    return [
        (tokenizer_text(t, numbers.get(i)), numbers.get(i, -1)) for t, i in zip(found.tokens, found.ids, strict=True)
    ]


def tokenizer_text(token: str, number: int | None) -> str:
    return token if number is None else ""


def simplify(pieces: list[tuple[str, int]], contents: Sequence[str]) -> list[tuple[str, int]]:
    """Our pieces in the form of `reference`: a plain character that is also an added token's content counts as that token."""
    singles = {content: number for number, content in reversed(list(enumerate(contents)))}
    return [("", singles.get(p, i) if i < 0 else i) if i >= 0 or p in singles else (p, -1) for p, i in pieces]


def compare(tokens: list[AddedToken], text: str, *, nfc: bool = False, special_as_text: bool = False) -> None:
    normalize = NFC if nfc else str
    plan = plan_added_tokens(tokens, normalize, exclusive=False)
    matcher = Matcher(plan, normalize)
    modes = bytes(TEXT if t.special and special_as_text else MATCH for t in tokens)
    got = [matcher.whole(text, modes, level) for level in LEVELS]
    assert all(g == got[0] for g in got)
    if all(mode == MATCH for mode in modes):
        assert matcher.whole(text, None, LEVELS[-1]) == got[0]
    expected = reference(tokens, text, nfc=nfc, special_as_text=special_as_text)
    if expected is not None:
        assert simplify(got[0], [t.content for t in tokens]) == expected, (tokens, text)


def token(content: str, number: int = 0, **flags: bool) -> AddedToken:
    return AddedToken(id=number, content=content, **flags)


contents = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=5)
flag = st.booleans()


@st.composite
def token_sets(draw: st.DrawFn) -> list[AddedToken]:
    chosen = draw(st.lists(contents, min_size=1, max_size=9, unique_by=NFC))
    if draw(flag):  # all begin with the same character, which the scan makes use of
        chosen = ["<" + c for c in chosen]
    plain = draw(st.integers(0, 2)) == 0  # a third of the sets without flags
    names = ("special",) if plain else ("special", "single_word", "lstrip", "rstrip", "normalized")
    return [token(c, 100 + i, **{name: draw(flag) for name in names}) for i, c in enumerate(chosen)]


@st.composite
def sets_and_texts(draw: st.DrawFn) -> tuple[list[AddedToken], str]:
    tokens = draw(token_sets())
    parts = st.one_of(
        st.sampled_from([t.content for t in tokens]), st.text(st.sampled_from(ALPHABET), max_size=4), st.just("a" * 40)
    )
    return tokens, "".join(draw(st.lists(parts, max_size=12)))


@given(sets_and_texts(), flag, flag)
@example(
    ([token("xy", special=False, single_word=True, normalized=False), token("x", 1, special=False)], "xyz xy x"),
    False,
    False,
)
@example(([token("ab", special=True), token("a", 1, special=False)], "abab"), False, True)
@example(([token("<", rstrip=True, normalized=False), token("\n", 1, normalized=False)], "<\n   b"), False, False)
@example(([token("\n", lstrip=True, rstrip=True, normalized=False)], "a\n \n\nb"), False, False)
def test_same_segments_as_tokenizers(case: tuple[list[AddedToken], str], nfc: bool, special_as_text: bool) -> None:
    tokens, text = case
    compare(tokens, text, nfc=nfc, special_as_text=special_as_text)


@given(sets_and_texts(), st.data())
def test_exclusive_text_tokens_are_invisible(case: tuple[list[AddedToken], str], data: st.DataObject) -> None:
    """As if the matcher had been built without them: shorter tokens are found in their place."""
    tokens, text = case
    modes = bytes(data.draw(st.lists(st.sampled_from([TEXT, MATCH]), min_size=len(tokens), max_size=len(tokens))))
    kept = [i for i, mode in enumerate(modes) if mode == MATCH]
    assume(not any(a.content.startswith(b.content) for a in tokens for b in tokens if a is not b))
    whole = Matcher(plan_added_tokens(tokens, str, exclusive=True), str).whole(text, modes, LEVELS[-1])
    alone = Matcher(plan_added_tokens([tokens[i] for i in kept], str, exclusive=True), str)
    for level in LEVELS:
        assert whole == [(p, i if i < 0 else kept[i]) for p, i in alone.whole(text, None, level)]


@given(sets_and_texts(), st.data())
def test_same_specials_as_tiktoken(case: tuple[list[AddedToken], str], data: st.DataObject) -> None:
    tokens = [token(t.content, 256 + i) for i, t in enumerate(case[0])]
    text = case[1]
    try:
        plan = plan_added_tokens(tokens, str, exclusive=True)
    except DefinitionError:
        return
    encoding = tiktoken.Encoding(
        "toy",
        pat_str=r"[\s\S]",
        mergeable_ranks={bytes([i]): i for i in range(256)},
        special_tokens={t.content: t.id for t in tokens},
    )
    modes = bytes(
        data.draw(st.lists(st.sampled_from([TEXT, MATCH, ERROR]), min_size=len(tokens), max_size=len(tokens)))
    )
    allowed = {t.content for t, mode in zip(tokens, modes, strict=True) if mode == MATCH}
    refused = {t.content for t, mode in zip(tokens, modes, strict=True) if mode == ERROR}
    expected: list[int] | None
    try:
        expected = encoding.encode(text, allowed_special=allowed, disallowed_special=refused)
    except ValueError:
        expected = None
    matcher = Matcher(plan, str)
    for level in LEVELS:
        pieces = matcher.segments(text, 0, modes, level)
        fails = any(mode == ERROR for _, _, mode in pieces)
        assert (matcher.forbidden(text, modes, level) >= 0) is (expected is None)
        if not plan.overlap:
            assert fails is (expected is None)
        if expected is not None:
            ids = [i for p, index, _ in pieces for i in ([tokens[index].id] if index >= 0 else p.encode())]
            assert ids == expected


def test_set_in_which_one_special_begins_another_is_refused_under_tiktoken() -> None:
    with pytest.raises(DefinitionError, match="is a prefix of"):
        plan_added_tokens([token("<a", 1), token("<b>", 2), token("<a>", 3)], str, exclusive=True)
    plan_added_tokens([token("<a", 1), token("<a>", 2)], str, exclusive=False)


def test_overlap_is_known() -> None:
    def overlap(*contents: str) -> bool:
        return plan_added_tokens([token(c) for c in contents], str, exclusive=False).overlap

    assert not overlap("<|endoftext|>", "<|im_start|>")
    assert overlap("<|a|", "|a|>")
    assert overlap("<<") and overlap("abcd", "bc") and overlap("ab", "bcd")
    assert not overlap("<") and not overlap("ab", "cd")


def test_empty_and_equal_contents_warn_and_never_hang() -> None:
    tokens = [
        token("", 7),
        token("e\u0301", 8, normalized=True),
        token("é", 9, normalized=True),
    ]
    plan = plan_added_tokens(tokens, NFC, exclusive=False)
    assert [w.split(":")[0] for w in plan.warnings] == [
        "added token 7 is empty",
        "added tokens 8 and 9 are both 'é' once normalized",
    ]
    assert Matcher(plan, NFC).whole("aéb", None, 0) == [("a", -1), ("é", 1), ("b", -1)]
    assert "no tokens" in str(plan_added_tokens([], str, exclusive=False))
    assert Matcher(plan_added_tokens([], str, exclusive=False), str).whole("<x>", None, 0) == [(c, -1) for c in "<x>"]


def test_a_token_that_normalizes_to_nothing_is_refused() -> None:
    """The reference finds it at every byte."""
    with pytest.raises(DefinitionError, match="normalizes to nothing") as caught:
        plan_added_tokens([token("a"), token(" \n", 1, normalized=True)], str.strip, exclusive=False)
    assert caught.value.where == "added_tokens[1].content"
    flags: dict[str, Any] = {"single_word": False, "lstrip": False, "rstrip": False, "special": False}
    made = {
        "added_tokens": [{"id": 3, "content": " \n", "normalized": True, **flags}],
        "normalizer": {"type": "Strip", "strip_left": True, "strip_right": True},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]},
    }
    assert tokenizers.Tokenizer.from_str(json.dumps(made)).encode("ab").ids == [0, 1]


def test_a_token_at_every_offset_of_a_block() -> None:
    mixed = [token("<|end|>", 1), token("<|e", 2), token("\n", 3), token("é", 4), token("ab", 5, single_word=True)]
    cases = [(mixed, "<|end|>", 0), (mixed, "<|en", 1), (mixed, "\n", 2), (mixed, "é", 3), (mixed, " ab", 4)]
    for tokens, inserted, number in [*cases, (mixed[:2], "<<|end|>", 0), (mixed[2:3], "\n", 0)]:
        matcher = Matcher(plan_added_tokens(tokens, str, exclusive=False), str)
        for before in (*range(70), *range(120, 134), *range(250, 260), *range(380, 390)):
            for after in (0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 66):
                text = "x" * before + inserted + " " * after
                for level in LEVELS:
                    found = [i for _, i, _ in matcher.segments(text, 0, None, level) if i >= 0]
                    assert found == [number], (inserted, before, after, level)


def test_finder_lets_every_token_through() -> None:
    rng = random.Random(2)
    for size in (1, 3, 8, 9, 40, 300):
        words = {"".join(rng.choices(ALPHABET + "mnopqrs0123", k=rng.randrange(1, 6))) for _ in range(size)}
        plan = plan_added_tokens([token(w, i) for i, w in enumerate(sorted(words))], str, exclusive=False)
        masks = finder_masks(plan.passes[0])[:96].reshape(3, 2, 16)
        assert len(plan.passes[0].buckets) <= 8
        for word in words:
            bits = 0xFF
            for position, byte in enumerate((word.encode() + b"\0\0")[:3]):
                bits &= int(masks[position, 0, byte & 15] & masks[position, 1, byte >> 4])
            assert bits, word


def test_word_characters_and_whitespace_are_the_reference_s() -> None:
    """All scalar values after a single_word token, and on both sides of one that strips."""
    scalars = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    word, space = np.zeros(0x110000, bool), np.zeros(0x110000, bool)
    for low, high in property_ranges("\\w", "fancy"):
        word[low : high + 1] = True
    for low, high in property_ranges("\\s", "fancy"):
        space[low : high + 1] = True
    split = tokenizers.pre_tokenizers.Whitespace()
    pieces = [len(split.pre_tokenize_str("a" + chr(c))) for c in scalars]
    assert (np.array(pieces) == 1)[~space[scalars]].tolist() == word[scalars][~space[scalars]].tolist()

    # Characters go by length, so that what is found where says which character it stood next to.
    for low, high, size in (
        (0, 0x80, 1),
        (0x80, 0x800, 2),
        (0x800, 0xD800, 3),
        (0xE000, 0x10000, 3),
        (0x10000, 0x110000, 4),
    ):
        chars = range(low, high)
        alone = Matcher(plan_added_tokens([token("<x>", 1, single_word=True)], str, exclusive=False), str)
        rows = alone.rows("".join(f"<x>{chr(c)}-" for c in chars).encode(), 0, None, LEVELS[-1])
        free = np.ones(len(chars), bool)
        free[rows[rows[:, 2] >= 0, 0] // (size + 4)] = False
        assert free.tolist() == word[low:high].tolist()
        strip = Matcher(plan_added_tokens([token("<x>", 1, rstrip=True, lstrip=True)], str, exclusive=False), str)
        rows = strip.rows("".join(f"-{chr(c)}<x>{chr(c)}" for c in chars).encode(), 0, None, LEVELS[-1])
        widths = (rows[:, 1] - rows[:, 0])[rows[:, 2] >= 0]
        assert widths.tolist() == (3 + 2 * size * space[low:high]).tolist()


def test_whitespace_is_scanned_once() -> None:
    """A run of tokens that each strip the whole rest of the text: linear, not quadratic."""
    matcher = Matcher(plan_added_tokens([token("\n", 1, lstrip=True, rstrip=True)], str, exclusive=False), str)
    assert matcher.segments("a" + "\n" * 1_000_000 + "b", 0, None, LEVELS[-1])[1] == ("\n" * 1_000_000, 0, MATCH)
    matcher = Matcher(plan_added_tokens([token(" " * n, n) for n in range(2, 25)], str, exclusive=False), str)
    assert len(matcher.segments(" " * 240_000, 0, None, LEVELS[-1])) == 10_000


def test_published_faults(shared: Any) -> None:
    ran = 0
    for case in shared.faults.values():
        if not (case["id"].startswith("added-") and case["model_or_config"].startswith("configs/")):
            continue
        stored: dict[str, Any] = json.loads((shared.configs.parent / case["model_or_config"]).read_text())
        # Single characters and added tokens only, so that an id says who found it.
        singles = sorted(k for k in stored["model"]["vocab"] if len(k) == 1)
        stored["model"]["vocab"] = {k: i for i, k in enumerate([*singles, "[UNK]"])}
        stored["model"] |= {"merges": [], "unk_token": "[UNK]"}
        stored["post_processor"] = None
        engine = tokenizers.Tokenizer.from_str(json.dumps(stored))
        normalize = engine.normalizer.normalize_str if stored["normalizer"] else str
        fields = ("single_word", "lstrip", "rstrip", "normalized", "special")
        tokens = [
            AddedToken(engine.token_to_id(t["content"]) or 0, t["content"], **{f: t[f] for f in fields})
            for t in stored["added_tokens"]
        ]
        matcher = Matcher(plan_added_tokens(tokens, normalize, exclusive=False), normalize)
        for text in case["input"]:
            known = {t.id for t in tokens}
            ids = [i for i in engine.encode(text, add_special_tokens=False).ids if i in known]
            for level in LEVELS:
                got = [tokens[i].id for _, i in matcher.whole(text, None, level) if i >= 0]
                if case["id"] == "added-normalized-collision":  # which of the two wins is not deterministic there
                    assert len(got) == len(ids)
                else:
                    assert got == ids, (case["id"], text)
                ran += 1
    assert ran > 20


SANITIZED = r"""
extern size_t handle(const uint8_t *p, size_t n, uint8_t **out);
size_t handle(const uint8_t *p, size_t n, uint8_t **out) {
  gt_added_cursor cursor;
  gt_added_match match;
  *out = malloc(4 * n + 4);
  size_t count = 0;
  gt_added_begin(&cursor, p, p + n);
  while (gt_added_next(&cursor, 0, NULL, &match)) memcpy(*out + 4 * count++, &match.index, 4);
  return 4 * count;
}
"""


def test_without_x86_the_portable_way_is_all_there_is() -> None:
    built: ctypes.CDLL = harness["build"]("#define GT_X86 0\n" + SOURCE)
    harness["set_level"](built, 3)
    rows = np.empty((4, 4), np.int64)
    built.segments.restype = ctypes.c_int64
    assert built.segments(b"a" * 99, ctypes.c_size_t(99), 0, None, ctypes.c_void_p(rows.ctypes.data)) == 1
    assert rows[0].tolist() == [0, 99, -1, 0]  # its tables are empty


def test_reads_nothing_outside_the_buffer() -> None:
    rng = random.Random(4)
    words = ["<|end|>", "<|e", "\n", "é", "ab", " ", "\u3000x"]
    flags: list[dict[str, bool]] = [
        {},
        {"rstrip": True},
        {"lstrip": True, "rstrip": True},
        {"single_word": True},
        {},
        {},
        {},
    ]
    tokens = [token(w, i, **f) for i, (w, f) in enumerate(zip(words, flags, strict=True))]
    plan = plan_added_tokens(tokens, str, exclusive=False)
    source = harness["table_source"](plan.tables) + '#include <stdlib.h>\n#include "added.h"\n' + SANITIZED
    texts = [""]
    for length in (*range(1, 140), 191, 192, 193, 256):
        texts += [
            "x" * (length - 1) + "<",
            "x" * (length - 1) + "\n",
            "".join(rng.choices([*ALPHABET, *words], k=length)),
        ]
    matcher = Matcher(plan, str)
    for level in LEVELS:
        answers = harness["run_sanitized"](source, [t.encode() for t in texts], level)
        for text, answer in zip(texts, answers, strict=True):
            found = [i for _, i, _ in matcher.segments(text, 0, None, 0) if i >= 0]
            assert np.frombuffer(answer, np.int32).tolist() == found
