"""Rebuild `tables.txt` from the reference engines: `python -m gigatok_compile.unicode.generate [DIRECTORY]`.

Every table is read out of the engine by running it over all scalar values, so the file says what the engine does,
not what some Unicode release says. One line per property:

    names dialects lo-hi lo-hi ...        names separated by commas, hexadecimal inclusive ranges
    fold - 4B,6B,212A ...                 orbits of simple case folding
    expand - DF=73,73 ...                 full case foldings to more than one character (Oniguruma applies them)

`dialects` is `both`, `oniguruma` or `fancy`. Takes about four minutes; the result depends on the two wheels only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from gigatok_compile.unicode.engine import all_scalars, code_points_of, matches_whole
from gigatok_compile.unicode.names import LEAF_CATEGORIES

BINARY = """
alphabetic,alpha uppercase,upper lowercase,lower whitespace ideographic,ideo hexdigit,hex asciihexdigit,ahex
math dash cased defaultignorablecodepoint,di diacritic,dia extender,ext joincontrol,joinc noncharactercodepoint,nchar
patternsyntax,patsyn patternwhitespace,patws quotationmark,qmark radical regionalindicator,ri softdotted,sd
terminalpunctuation,term sentenceterminal,sterm unifiedideograph,uideo variationselector,vs emoji
emojipresentation,epres emojimodifier,emod emojimodifierbase,ebase emojicomponent,ecomp extendedpictographic,extpict
alnum blank cntrl digit graph print punct space word xdigit any assigned ascii
"""

SCRIPTS = """
adlam,adlm ahom anatolianhieroglyphs,hluw arabic,arab armenian,armn avestan,avst balinese,bali bamum,bamu
bassavah,bass batak,batk bengali,beng bhaiksuki,bhks bopomofo,bopo brahmi,brah braille,brai buginese,bugi buhid,buhd
canadianaboriginal,cans carian,cari caucasianalbanian,aghb chakma,cakm cham cherokee,cher chorasmian,chrs common,zyyy
coptic,copt,qaac cuneiform,xsux cypriot,cprt cyprominoan,cpmn cyrillic,cyrl deseret,dsrt devanagari,deva
divesakuru,diak dogra,dogr duployan,dupl egyptianhieroglyphs,egyp elbasan,elba elymaic,elym ethiopic,ethi garay,gara
georgian,geor glagolitic,glag gothic,goth grantha,gran greek,grek gujarati,gujr gunjalagondi,gong gurmukhi,guru
gurungkhema,gukh han,hani hangul,hang hanifirohingya,rohg hanunoo,hano hatran,hatr hebrew,hebr hiragana,hira
imperialaramaic,armi inherited,zinh,qaai inscriptionalpahlavi,phli inscriptionalparthian,prti javanese,java
kaithi,kthi kannada,knda katakana,kana kawi kayahli,kali kharoshthi,khar khitansmallscript,kits khmer,khmr
khojki,khoj khudawadi,sind kiratrai,krai lao,laoo latin,latn lepcha,lepc limbu,limb lineara,lina linearb,linb lisu
lycian,lyci lydian,lydi mahajani,mahj makasar,maka malayalam,mlym mandaic,mand manichaean,mani marchen,marc
masaramgondi,gonm medefaidrin,medf meeteimayek,mtei mendekikakui,mend meroiticcursive,merc meroitichieroglyphs,mero
miao,plrd modi mongolian,mong mro,mroo multani,mult myanmar,mymr nabataean,nbat nagmundari,nagm nandinagari,nand newa
newtailue,talu nko,nkoo nushu,nshu nyiakengpuachuehmong,hmnp ogham,ogam olchiki,olck oldhungarian,hung olditalic,ital
oldnortharabian,narb oldpermic,perm oldpersian,xpeo oldsogdian,sogo oldsoutharabian,sarb oldturkic,orkh
olduyghur,ougr olonal,onao oriya,orya osage,osge osmanya,osma pahawhhmong,hmng palmyrene,palm paucinhau,pauc
phagspa,phag phoenician,phnx psalterpahlavi,phlp rejang,rjng runic,runr samaritan,samr saurashtra,saur sharada,shrd
shavian,shaw siddham,sidd signwriting,sgnw sinhala,sinh sogdian,sogd sorasompeng,sora soyombo,soyo sundanese,sund
sunuwar,sunu sylotinagri,sylo syriac,syrc tagalog,tglg tagbanwa,tagb taile,tale taitham,lana taiviet,tavt takri,takr
tamil,taml tangsa,tnsa tangut,tang telugu,telu thaana,thaa thai tibetan,tibt tifinagh,tfng tirhuta,tirh todhri,todr
toto tulutigalari,tutg ugaritic,ugar vai,vaii vithkuqi,vith wancho,wcho warangciti,wara yezidi,yezi yi,yiii
zanabazarsquare,zanb
"""

SHORTHANDS = ("s", "d", "w", "h")
POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit"
DIALECTS = ("oniguruma", "fancy")


def format_ranges(code_points: Iterable[int]) -> str:
    """`41-5A B5 ...` for a set of code points."""
    ranges: list[list[int]] = []
    for code_point in sorted(code_points):
        if ranges and ranges[-1][1] == code_point - 1:
            ranges[-1][1] = code_point
        else:
            ranges.append([code_point, code_point])
    return " ".join(f"{lo:X}" if lo == hi else f"{lo:X}-{hi:X}" for lo, hi in ranges)


def probe_property(names: str, patterns: Iterable[tuple[str, str]]) -> list[str]:
    """Lines for one property. `patterns` are (name, regex) spellings of it; each dialect keeps those it accepts."""
    accepted: dict[str, tuple[str, set[int]]] = {}
    for dialect in DIALECTS:
        spellings: list[str] = []
        found: set[int] = set()
        for name, pattern in patterns:
            try:
                # The whole text is scanned once per property; further spellings only need to be accepted.
                if spellings:
                    matches_whole(pattern, dialect, ["a"])
                else:
                    found = code_points_of(pattern, dialect)
            except ValueError:
                continue
            spellings.append(name)
        if spellings:
            accepted[dialect] = (",".join(spellings), found)
    if len(accepted) == 2 and accepted["oniguruma"] == accepted["fancy"]:
        spelled, found = accepted["fancy"]
        return [f"{spelled} both {format_ranges(found)}"]
    return [f"{spelled} {dialect} {format_ranges(found)}" for dialect, (spelled, found) in accepted.items()]


def join_equal(lines: list[str]) -> list[str]:
    """One line for all names of the same set in the same dialects, in order of first use."""
    names: dict[str, list[str]] = {}
    for line in lines:
        spelled, _, rest = line.partition(" ")
        names.setdefault(rest, []).append(spelled)
    return [f"{','.join(spelled)} {rest}" for rest, spelled in names.items()]


def fold_orbits() -> list[tuple[int, ...]]:
    """Sets of characters that `(?i:x)` cannot tell apart, confirmed pair by pair with both engines.

    Candidates come from Python's case mappings, whose Unicode version does not matter: a superset is enough, since
    the engine decides. Characters without any mapping in Python but cased in the engine are tried against the
    neighbours that a case pair can have (one apart, 32 or 40 apart in the bicameral scripts).
    """
    candidates: dict[int, set[int]] = {}
    cased = code_points_of(r"[\p{L}\p{M}\p{N}\p{So}]", "fancy")

    def link(a: int, b: int) -> None:
        if a != b and a in cased and b in cased:
            candidates.setdefault(a, set()).add(b)
            candidates.setdefault(b, set()).add(a)

    for code_point in sorted(cased):
        char = chr(code_point)
        mapped = {char.lower(), char.upper(), char.title(), char.casefold(), char.upper().lower(), char.lower().upper()}
        for other in mapped:
            if len(other) == 1:
                link(code_point, ord(other))
    folding = code_points_of(r"[\p{Lu}\p{Ll}\p{Lt}]", "fancy")
    mapped_already = set(candidates)
    for code_point in sorted(folding - mapped_already):
        for distance in (1, 16, 26, 27, 28, 32, 34, 38, 39, 40, 48, 64, 80, 2048, 7264):
            link(code_point, code_point + distance)
            link(code_point, code_point - distance)
    for code_point, extra in _KNOWN_EXTRA:
        link(code_point, extra)
    confirmed: dict[int, set[int]] = {}
    for a, others in sorted(candidates.items()):
        transitive = set(others)
        for b in others:
            transitive |= candidates[b]
        for b in sorted(transitive - {a}):
            verdicts = [matches_whole(f"(?i:\\x{{{a:X}}})", dialect, [chr(b)])[0] for dialect in DIALECTS]
            if verdicts[0] != verdicts[1]:
                print(f"note: (?i:{a:X}) on {b:X}: oniguruma {verdicts[0]}, fancy {verdicts[1]}", file=sys.stderr)
            if verdicts[0] and verdicts[1]:
                confirmed.setdefault(a, set()).add(b)
    orbits = {tuple(sorted({a, *others})) for a, others in confirmed.items()}
    members = [code_point for orbit in orbits for code_point in orbit]
    if len(members) != len(set(members)):
        raise RuntimeError("case folding is not an equivalence: an orbit was only partly confirmed")
    return sorted(orbits)


# U+1C80.. and other characters whose simple folding Python's tables may not have yet; harmless if they do.
_KNOWN_EXTRA = (
    (0x1C89, 0x1C8A),
    (0xA7CB, 0x264),
    (0xA7CC, 0xA7CD),
    (0xA7DA, 0xA7DB),
    (0xA7DC, 0x19B),
    (0x1FD3, 0x390),
    (0x1FE3, 0x3B0),
    (0xFB05, 0xFB06),
    (0x1C88, 0xA64B),
    (0x1C88, 0xA64A),
)


def multi_character_folds() -> list[tuple[int, tuple[int, ...]]]:
    """(c, s): Oniguruma's `(?i:c)` also matches the string s of several characters, and the other way round."""
    found = []
    for char in all_scalars():
        folded = char.casefold()
        if len(folded) > 1 and matches_whole(f"(?i:\\x{{{ord(char):X}}})", "oniguruma", [folded])[0]:
            found.append((ord(char), tuple(map(ord, folded))))
    return found


def main() -> None:
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    lines: list[str] = []
    # Bulky properties that no tokenizer is known to use (XID_Start, Grapheme_Base, ...) are left out on purpose.
    for category in LEAF_CATEGORIES:
        lines += probe_property(category, [(category.lower(), f"\\p{{{category}}}")])
    for names in (BINARY + SCRIPTS).split():
        lines += probe_property(names, [(name, f"\\p{{{name}}}") for name in names.split(",")])
    for letter in SHORTHANDS:
        lines += probe_property(letter, [("\\" + letter, "\\" + letter)])
    # Not redundant: Oniguruma's [[:punct:]] also holds symbols, and its \w inside a class lacks six characters.
    for name in POSIX.split():
        lines += probe_property(name, [(f"[:{name}:]", f"[[:{name}:]]")])
    lines = join_equal(lines)
    lines.append("fold - " + " ".join(",".join(f"{c:X}" for c in orbit) for orbit in fold_orbits()))
    expansions = (f"{c:X}=" + ",".join(f"{x:X}" for x in folded) for c, folded in multi_character_folds())
    lines.append("expand - " + " ".join(expansions))
    (directory / "tables.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
