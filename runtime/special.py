"""`special=`: what to do with added tokens that occur in a text, as one mode byte an added token."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from gigatok_runtime.manifest import AddedTokenEntry, Manifest

Mode = Literal["match", "text", "error"]
Special = Mode | Collection[str] | Mapping[str, Mode] | None

MODES: Final[dict[str, int]] = {"text": 0, "match": 1, "error": 2}  # GT_AS_TEXT, GT_MATCH, GT_ERROR


def default_mode(source_format: str) -> Mode:
    """What the reference engine does: tokenizers matches specials, tiktoken refuses a text that holds one."""
    return "error" if source_format == "tiktoken" else "match"


def joins_surrogates(source_format: str) -> bool:
    """Does the reference make one character of a pair of surrogates in a str, and U+FFFD of a lone one? Others refuse both."""
    return source_format in ("tiktoken", "tekken.json")


def resolve_modes(special: Special, manifest: Manifest) -> bytes:
    """Mode bytes for `special`; added tokens that are not special match unless they are named.

    special: None for the reference's default; a mode for all special tokens; a collection of names that match, all other
    special tokens being text; or a mapping from names to modes, the others having the default.

    Raises:
        ValueError: an unknown mode, or a name that is no added token. TypeError: `special` is of no such kind.
    """
    added = manifest["added_tokens"]
    default = default_mode(manifest["source_format"])
    if special is None:
        return _all_special(added, default)
    if isinstance(special, str):
        if special not in MODES:
            raise ValueError(
                f"special must be one of {', '.join(map(repr, MODES))}, a set or a mapping of names, not {special!r}"
            )
        return _all_special(added, special)
    if isinstance(special, Mapping):
        named = {name: _mode_number(mode, name) for name, mode in special.items()}
        base = default
    elif isinstance(special, Collection) and not isinstance(special, bytes | bytearray | memoryview):
        named = dict.fromkeys(special, MODES["match"])
        base = "text"
    else:
        raise TypeError(f"special must be a str, a set or a mapping of names, not {type(special).__name__}")
    modes = dict(zip((token["content"] for token in added), _all_special(added, base), strict=True))
    for name, mode in named.items():
        if name not in modes:
            raise ValueError(f"special names {name!r}, which is no added token of this tokenizer{_near(name, modes)}")
        modes[name] = mode
    return bytes(modes.values())


def _all_special(added: Sequence[AddedTokenEntry], mode: str) -> bytes:
    return bytes(MODES[mode] if token["special"] else MODES["match"] for token in added)


def _mode_number(mode: object, name: str) -> int:
    if not isinstance(mode, str) or mode not in MODES:
        raise ValueError(f"special[{name!r}] must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
    return MODES[mode]


def _near(name: object, known: Collection[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1) if isinstance(name, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""
