"""Loader of `components.txt`: what each component of tokenizers takes for a digit, punctuation, a mark, a script.

The wheel holds five Unicode versions, so a set belongs to the component that uses it and not to one Unicode release;
`components_generate.py` reads every one of them out of the wheel. Canonical and compatibility decompositions are in
`nfc.json` (`gigatok_compile.normalizer.data`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from gigatok_compile.ir.tags import Range
from gigatok_compile.unicode.tables import property_ranges

PREFIX = "hf:"
"""What a component's set is called in a pattern: `\\p{hf:numeric}`. No engine has a property with a colon so placed."""

ANY_SCRIPT = "any"
"""The characters that belong to every script: UnicodeScripts never cuts before one."""


@dataclass(frozen=True, slots=True)
class Components:
    """source: the wheel it was read from.

    sets: name -> sorted, disjoint ranges. The names and who uses them are in `components.txt`.
    scripts: name -> ranges; together they partition the scalar values. UnicodeScripts does not cut inside one of them.
    lowercase: code point -> its lower case, for those that have another one.
    """

    source: str
    sets: dict[str, tuple[Range, ...]]
    scripts: dict[str, tuple[Range, ...]]
    lowercase: dict[int, str]


@lru_cache(maxsize=1)
def load_components() -> Components:
    """The whole file."""
    sets: dict[str, tuple[Range, ...]] = {}
    scripts: dict[str, tuple[Range, ...]] = {}
    lowercase: dict[int, str] = {}
    source = ""
    text = (files("gigatok_compile.unicode") / "components.txt").read_text(encoding="ascii")
    for line in text.replace("\n  ", " ").splitlines():
        if line.startswith("#"):
            continue
        kind, name, *items = line.split()
        match kind:
            case "source":
                source = line.partition(" ")[2]
            case "map":
                for item in items:
                    lowercase.update(_parse_mapping(item))
            case "set" | "script":
                (sets if kind == "set" else scripts)[name] = tuple(map(_parse_range, items))
            case _:
                raise ValueError(f"components.txt: {kind!r} is not understood")
    sets["word"] = property_ranges("\\w", "fancy")  # the same crate as tiktoken's; a test compares them
    return Components(source, sets, scripts, lowercase)


def component_ranges(name: str) -> tuple[Range, ...]:
    """Ranges of the set `name`, or of a script spelled `script=NAME`. No surrogates.

    numeric             Digits: `char::is_numeric`
    whitespace          WhitespaceSplit, Strip, BertPreTokenizer: `char::is_whitespace`; also `\\s` of Whitespace
    word                Whitespace: `\\w`
    punctuation         Punctuation, BertPreTokenizer
    bert_dropped        BertNormalizer(clean_text): not in the result
    bert_space          BertNormalizer(clean_text): a space in the result (the space itself left out)
    bert_chinese        BertNormalizer(handle_chinese_chars): gets a space on both sides
    bert_mark           BertNormalizer(strip_accents): dropped, after NFD
    combining_mark      StripAccents: dropped, without NFD
    nmt_dropped         Nmt: not in the result
    nmt_space           Nmt: a space in the result (the space itself left out)

    Raises:
        KeyError: for any other name.
    """
    components = load_components()
    prefix, _, script = name.partition("=")
    return components.scripts[script] if prefix == "script" else components.sets[name]


def lowercase_map() -> dict[int, str]:
    """Lowercase and BertNormalizer(lowercase): code point -> its lower case, which may be two characters (U+0130).

    Character by character: a final sigma becomes U+03C3 like any other.
    """
    return load_components().lowercase


def script_names() -> tuple[str, ...]:
    """Scripts as UnicodeScripts tells them apart, `ANY_SCRIPT` left out. Hiragana and Katakana are in `han`."""
    return tuple(name for name in load_components().scripts if name != ANY_SCRIPT)


def named_ranges(name: str, dialect: str) -> tuple[Range, ...]:
    """What `\\p{name}` is in our own patterns: a component's set after `hf:`, else the dialect's property.

    Raises:
        KeyError: there is no such set or property.
    """
    return component_ranges(name[len(PREFIX) :]) if name.startswith(PREFIX) else property_ranges(name, dialect)


def _parse_range(item: str) -> Range:
    low, _, high = item.partition("-")
    return int(low, 16), int(high or low, 16)


def _parse_mapping(item: str) -> dict[int, str]:
    """`41-5A:61`: consecutive to consecutive; `100-12E/2:101`: every second one; `130=69,307`: one to several."""
    if "=" in item:
        head, _, tail = item.partition("=")
        return {int(head, 16): "".join(chr(int(part, 16)) for part in tail.split(","))}
    heads, _, first = item.partition(":")
    heads, _, step = heads.partition("/")
    low, high = _parse_range(heads)
    distance = int(first, 16) - low
    return {code: chr(code + distance) for code in range(low, high + 1, int(step or "1"))}
