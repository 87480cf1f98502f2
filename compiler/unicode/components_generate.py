"""Write components.txt: the character sets and maps of the components of tokenizers, read out of the wheel.

    python -m gigatok_compile.unicode.components_generate            rewrite components.txt next to this file
    python -m gigatok_compile.unicode.components_generate --check    compare only; exit 1 when it differs

Every table is what a component does to each of the 1,112,064 scalar values, so the file follows the wheel and no Unicode
release. A component takes all of them in one call: as they stand in order where it cuts, between separators that it
leaves alone where it maps. Takes a few seconds.

Lines are `set NAME RANGES`, `script NAME RANGES` and `map NAME ITEMS`, continued by lines that begin with two spaces.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

from gigatok_compile.unicode.engine import all_scalars
from gigatok_compile.unicode.generate import SCRIPTS, format_ranges
from gigatok_compile.unicode.tables import property_ranges

OUTPUT = Path(__file__).with_name("components.txt")
Mapping = dict[str, str]


def cut_sets() -> dict[str, tuple[str, set[str]]]:
    """name -> (who uses it, the characters), of the pre-tokenizers."""
    from tokenizers import pre_tokenizers

    text = all_scalars()
    kept = {char for piece, _ in pre_tokenizers.WhitespaceSplit().pre_tokenize_str(text) for char in piece}
    return {
        "numeric": (
            "Digits: char::is_numeric of Rust's std, Unicode 17",
            class_of(pre_tokenizers.Digits(individual_digits=False), "1", "a"),
        ),
        "whitespace": (
            "WhitespaceSplit, Strip, BertPreTokenizer: char::is_whitespace of Rust's std, White_Space",
            set(text) - kept,
        ),
        "punctuation": (
            "Punctuation, BertPreTokenizer: ASCII punctuation, and P of the unicode_categories crate, about Unicode 8",
            class_of(pre_tokenizers.Punctuation("contiguous"), "!", "a"),
        ),
    }


def class_of(step: Any, member: str, other: str) -> set[str]:
    """The characters that a step which cuts between two classes does not cut from `member`."""
    text = all_scalars()
    starts = [start for _, (start, _) in step.pre_tokenize_str(text)]
    bounds = zip(starts, [*starts[1:], len(text)], strict=True)
    found: set[str] = set()
    for start, end in bounds:
        pieces = step.pre_tokenize_str(member + text[start] + other)
        if pieces[0][0] == member + text[start]:
            found.update(text[start:end])
    return found


def map_each(normalizer: Any, separator: str = "\n") -> Mapping:
    """What a normalizer makes of each character by itself, where that is not the character.

    `separator` is a character that it leaves alone, makes of no other one, and does nothing across.
    """
    text = all_scalars().replace(separator, "")
    assert normalizer.normalize_str(separator) == separator
    results = normalizer.normalize_str(separator.join(text)).split(separator)
    return {char: result for char, result in zip(text, results, strict=True) if result != char}


def mapped_sets() -> dict[str, tuple[str, set[str]]]:
    """name -> (who uses it, the characters), of the normalizers. Checks that nothing else happens to any character."""
    from tokenizers import normalizers

    categories = "the unicode_categories crate, about Unicode 8"
    clean = map_each(bert(clean_text=True), "|")
    chinese = map_each(bert(handle_chinese_chars=True))
    stripped, decomposed = map_each(bert(strip_accents=True)), map_each(normalizers.NFD())
    marks = {char for char, result in stripped.items() if not result}
    for char in stripped.keys() | decomposed.keys():
        nfd = decomposed.get(char, char)
        assert stripped.get(char, char) == "".join(c for c in nfd if c not in marks), f"U+{ord(char):04X}"
    accents = map_each(normalizers.StripAccents())
    nmt = map_each(normalizers.Nmt(), "|")
    for mapping, results in ((clean, {"", " "}), (nmt, {"", " "}), (accents, {""})):
        assert set(mapping.values()) == results
    assert all(result == f" {char} " for char, result in chinese.items())
    return {
        "bert_dropped": (
            f"BertNormalizer(clean_text) drops them: U+0000, U+FFFD, Cc, Cf, Co of {categories}",
            where(clean, ""),
        ),
        "bert_space": ("BertNormalizer(clean_text) makes them a space", where(clean, " ")),
        "bert_chinese": ("BertNormalizer(handle_chinese_chars) puts spaces around them", set(chinese)),
        "bert_mark": (f"BertNormalizer(strip_accents) drops them after NFD: Mn of {categories}", marks),
        "combining_mark": (
            "StripAccents drops them: M of the crate unicode-normalization-alignments, Unicode 9",
            set(accents),
        ),
        "nmt_dropped": ("Nmt drops them", where(nmt, "")),
        "nmt_space": ("Nmt makes them a space", where(nmt, " ")),
    }


def bert(**on: bool) -> Any:
    """A BertNormalizer that does only what is named."""
    from tokenizers import normalizers

    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return normalizers.BertNormalizer(**{name: on.get(name, False) for name in names})


def where(mapping: Mapping, result: str) -> set[str]:
    return {char for char, its_result in mapping.items() if its_result == result}


def script_classes() -> dict[str, list[str]]:
    """Script -> its characters. UnicodeScripts cuts before a character that is neither of the script of the last one that
    has a script nor of none; `any` are those of none."""
    from tokenizers import pre_tokenizers

    step = pre_tokenizers.UnicodeScripts()

    def cuts(text: str) -> set[int]:
        return {start for _, (start, _) in step.pre_tokenize_str(text)}

    # Latin, the character; Han, the character: what is cut from neither has no script.
    scalars = all_scalars()
    after = {letter: cuts("".join(letter + char for char in scalars)) for letter in "a\u4e00"}
    has_script = [2 * i + 1 in after["a"] or 2 * i + 1 in after["\u4e00"] for i in range(len(scalars))]
    rest = "".join(char for char, has in zip(scalars, has_script, strict=True) if has)
    starts = sorted(cuts(rest))
    classes: list[list[str]] = []
    for start, end in zip(starts, [*starts[1:], len(rest)], strict=True):
        # One of every class so far, each followed by the new character.
        tried = cuts("".join(members[0] + rest[start] for members in classes))
        same = next((members for i, members in enumerate(classes) if 2 * i + 1 not in tried), None)
        if same is None:
            classes.append(same := [])
        same += rest[start:end]
    anywhere = [char for char, has in zip(scalars, has_script, strict=True) if not has]
    return {"any": anywhere, **_named(classes)}


def _named(classes: list[list[str]]) -> dict[str, list[str]]:
    """Every class under the name of the script that most of it has in `tables.txt`."""
    script_of: dict[int, str] = {}
    for names in SCRIPTS.split():
        name = names.split(",")[0]
        for low, high in property_ranges(name, "oniguruma"):
            script_of.update(dict.fromkeys(range(low, high + 1), name))
    named: dict[str, list[str]] = {}
    for members in classes:
        names_of_members = [script_of.get(ord(char), "unknown") for char in members]
        name = max(sorted(set(names_of_members)), key=names_of_members.count)
        assert name not in named, name
        named[name] = members
    return dict(sorted(named.items()))


def format_map(mapping: Mapping) -> str:
    """`41-5A:61 100-12E/2:101 130=69,307`: runs of one distance, every one or every second one, and longer results."""
    runs: list[list[int]] = []  # first, last, step (0: one so far), result of the first
    items: list[str] = []
    for char, result in sorted(mapping.items()):
        code = ord(char)
        if len(result) != 1:
            items.append(f"{code:X}=" + ",".join(f"{ord(part):X}" for part in result))
            continue
        if runs and ord(result) - code == runs[-1][3] - runs[-1][0]:
            step = code - runs[-1][1]
            if step <= 2 and runs[-1][2] in (0, step):
                runs[-1][1:3] = code, step
                continue
        runs.append([code, code, 0, ord(result)])
    for first, last, step, target in runs:
        heads = f"{first:X}" if first == last else f"{first:X}-{last:X}"
        items.append(f"{heads}{'/2' if step == 2 else ''}:{target:X}")
    return " ".join(items)


def extract() -> str:
    """The file's text, from the installed tokenizers."""
    import tokenizers

    lines = [
        "# made by: python -m gigatok_compile.unicode.components_generate",
        f"source tokenizers {tokenizers.__version__}",
    ]

    def add(comment: str, head: str, items: str) -> None:
        lines.extend([f"# {comment}"] if comment else [])
        lines.extend(textwrap.wrap(f"{head} {items}", 118, subsequent_indent="  ", break_on_hyphens=False))

    for name, (comment, members) in (cut_sets() | mapped_sets()).items():
        add(comment, f"set {name}", format_ranges(map(ord, members)))
    lower = map_each(tokenizers.normalizers.Lowercase())
    assert lower == map_each(bert(lowercase=True))
    add("Lowercase, BertNormalizer(lowercase): Rust's std, Unicode 17", "map lowercase", format_map(lower))
    comment = "UnicodeScripts: scripts of Unicode 9; `any` fits every one, Hiragana and Katakana count as Han"
    for name, chars in script_classes().items():
        add(comment, f"script {name}", format_ranges(map(ord, chars)))
        comment = ""
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file, or with --check compare; the exit status."""
    text = extract()
    if "--check" in arguments:
        same = OUTPUT.read_text(encoding="ascii") == text
        print("same" if same else f"{OUTPUT.name} differs from the installed tokenizers")
        return 0 if same else 1
    OUTPUT.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
