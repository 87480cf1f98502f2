"""Names of the properties: general categories with their groups, and how a name in `\\p{..}` is compared."""

from __future__ import annotations

LEAF_CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    *("Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"),
)

GROUPS: dict[str, tuple[str, ...]] = {
    **{group: tuple(leaf for leaf in LEAF_CATEGORIES if leaf[0] == group) for group in "LMNPSZC"},
    "LC": ("Lu", "Ll", "Lt"),
}

LONG_CATEGORY_NAMES: dict[str, str] = {
    "letter": "L",
    "casedletter": "LC",
    "uppercaseletter": "Lu",
    "lowercaseletter": "Ll",
    "titlecaseletter": "Lt",
    "modifierletter": "Lm",
    "otherletter": "Lo",
    "mark": "M",
    "combiningmark": "M",
    "nonspacingmark": "Mn",
    "spacingmark": "Mc",
    "enclosingmark": "Me",
    "number": "N",
    "decimalnumber": "Nd",
    "letternumber": "Nl",
    "othernumber": "No",
    "punctuation": "P",
    "connectorpunctuation": "Pc",
    "dashpunctuation": "Pd",
    "openpunctuation": "Ps",
    "closepunctuation": "Pe",
    "initialpunctuation": "Pi",
    "finalpunctuation": "Pf",
    "otherpunctuation": "Po",
    "symbol": "S",
    "mathsymbol": "Sm",
    "currencysymbol": "Sc",
    "modifiersymbol": "Sk",
    "othersymbol": "So",
    "separator": "Z",
    "spaceseparator": "Zs",
    "lineseparator": "Zl",
    "paragraphseparator": "Zp",
    "other": "C",
    "control": "Cc",
    "format": "Cf",
    "privateuse": "Co",
    "unassigned": "Cn",
}


def loose(name: str) -> str:
    """Loose matching of Unicode property names: case, spaces, `_` and `-` do not count (UAX 44, LM3)."""
    return name.lower().translate({ord(" "): None, ord("_"): None, ord("-"): None})
