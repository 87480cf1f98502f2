"""The results of `who_loads.py` as Markdown.

python -m benchmarks.who_tables RESULT.json                         print tables
python -m benchmarks.who_tables RESULT.json --update docs/rivals.md write them between the markers there
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import update_file
from benchmarks.rivals import RIVALS
from benchmarks.sessions import DIES, DIFFERS, EQUAL, HANGS, LOADED, NO_READER, NOT_RUN, RAISES, REFUSES

PARTS = ("definitions", "variants")
MARKERS = "<!-- {}: begin -->", "<!-- {}: end -->"
"""Around each of PARTS in the page."""


def cell_text(cell: dict[str, Any] | None, note: Callable[[str], str] = str, refused: bool = False) -> str:
    """A cell in words. note(message) -> what stands behind a refusal. refused: the reference refuses the definition."""
    if cell is None:
        return ""
    load = cell["load"]
    if load == NO_READER:
        return "–"
    if load != LOADED:
        said = {REFUSES: "refuses", DIES: "dies at load", HANGS: "hangs at load"}[load]
        return said if refused and load == REFUSES else f"{said} {note(cell['message'])}".rstrip()
    if refused:
        return "**loads it**"
    counts = cell["counts"]
    if list(counts) == [EQUAL]:
        return "equal"
    parts = [f"{counts[DIFFERS]} of {cell['texts']} differ"] if DIFFERS in counts else []
    words = {RAISES: "raise", DIES: "die", HANGS: "hang", NOT_RUN: "not run"}
    parts += [f"{counts[how]} {words[how]}" for how in (RAISES, DIES, HANGS, NOT_RUN) if how in counts]
    return "**" + ", ".join(parts) + "**"


def escaped(text: str, repeat: int = 0) -> str:
    """ASCII between backquotes, cut after about 80 characters; a run of one character as `'x' * repeat`."""
    if repeat > 8:
        return f"`{text[0]!a} * {repeat}`"
    shown = text
    while len(ascii(shown)) > 80:
        shown = shown[:-1]
    written = ascii(shown).replace("`", r"\x60")
    return f"`{written}`" + ("..." if len(shown) < len(text) else "")


def main_table(rows: Sequence[dict[str, Any]], named: Callable[[dict[str, Any]], str]) -> str:
    """A row a definition, a column an engine; then the first lines of refusals; then an example of each cell that differs."""
    engines = [name for name in RIVALS if any(name in row["cells"] for row in rows)]
    notes: dict[str, int] = {}

    def note(message: str) -> str:
        return f"({notes.setdefault(message, len(notes) + 1)})" if message else ""

    lines = [
        "| definition | texts | " + " | ".join(RIVALS[name].title for name in engines) + " |",
        "|---" * (len(engines) + 2) + "|",
    ]
    for row in rows:
        refused = row["reference"]["load"] != LOADED
        texts = "refused" if refused else str(row["reference"]["texts"])
        cells = [cell_text(row["cells"].get(name), note, refused) for name in engines]
        lines.append(f"| {named(row)} | {texts} | " + " | ".join(cells) + " |")
    lines += ["", *(f"{number}. {message}" for message, number in notes.items())]
    return "\n".join(lines) + "\n"


def example_list(rows: Sequence[dict[str, Any]], named: Callable[[dict[str, Any]], str]) -> str:
    """The shortest text found of each cell that is not equal, with the ids there should be and there are."""
    lines = []
    for row in rows:
        for name, cell in row["cells"].items():
            where = f"- {named(row)}, {RIVALS[name].title}:"
            if "example" in cell:
                example = cell["example"]
                lines.append(f"{where} {escaped(example['text'], example['repeat'])} {ids_text(example)}")
            for how, words in ((RAISES, "raises"), (DIES, "dies"), (HANGS, "no answer")):
                if how in cell:
                    one = cell[how]
                    lines.append(
                        f"{where} {escaped(one['text'])} ({one['characters']} characters): {words}, {one['message']}"
                    )
    return "\n".join(lines) + "\n"


def ids_text(example: dict[str, Any]) -> str:
    """`is 1 2, not 1 3`: all ids when they are few, else those from the first difference on."""
    at, (right_size, got_size) = example["at"], example["lengths"]

    def shown(ids: Sequence[int], size: int) -> str:
        return (" ".join(map(str, ids)) or "nothing") + (" ..." if at + len(ids) < size else "")

    where = f"from id {at} on " if at else ""
    sizes = f" ({right_size} ids, not {got_size})" if right_size != got_size else ""
    return f"is {where}{shown(example['right'], right_size)}, not {shown(example['got'], got_size)}{sizes}"


def summary_table(rows: Sequence[dict[str, Any]]) -> str:
    """A line an engine: how many definitions it has a reader for, loads, and gives the reference's ids of on every text."""
    lines = [
        "| engine | reads the kind of file | loads | equal on every text | other ids | raises, dies or hangs | refuses |",
        "|---" * 7 + "|",
    ]
    for name, rival in RIVALS.items():
        cells = [row["cells"][name] for row in rows if name in row["cells"] and row["reference"]["load"] == LOADED]
        read = [cell for cell in cells if cell["load"] != NO_READER]
        loaded = [cell for cell in read if cell["load"] == LOADED]
        equal = sum(list(cell["counts"]) == [EQUAL] for cell in loaded)
        other = sum(DIFFERS in cell["counts"] for cell in loaded)
        failing = sum(any(how in cell["counts"] for how in (RAISES, DIES, HANGS)) for cell in loaded)
        failing += sum(cell["load"] in (DIES, HANGS) for cell in read)
        refuses = sum(cell["load"] == REFUSES for cell in read)
        lines.append(f"| {rival.title} | {len(read)} | {len(loaded)} | {equal} | {other} | {failing} | {refuses} |")
    return "\n".join(lines) + "\n"


def definition_name(row: dict[str, Any]) -> str:
    return f"{row['model']} ({row['file']})"


def variant_name(row: dict[str, Any]) -> str:
    return str(row["claim"])


def part_text(results: dict[str, Any], part: str) -> str:
    """One of PARTS: summary, table, refusals, examples."""
    rows = sorted(results.get(part, []), key=lambda row: row["model"].startswith("case_"))  # those behind the others
    if not rows:
        return f"No {part} were measured.\n"
    named = definition_name if part == "definitions" else variant_name
    kinds = f"{len(rows)} {part}, {results['date']}. Versions: {', '.join(results['versions'])}.\n"
    shortest = "The shortest text found of each cell that is not equal"
    examples = f"<details><summary>{shortest}</summary>\n\n{example_list(rows, named)}\n</details>\n"
    return f"{kinds}\n{summary_table(rows)}\n{main_table(rows, named)}\n{examples}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--update", type=Path, metavar="FILE")
    options = parser.parse_args()
    results = json.loads(options.result.read_text())
    for part in PARTS:
        if options.update:
            begin, end = (marker.format(part) for marker in MARKERS)
            update_file(options.update, part_text(results, part), (begin, end))
        else:
            print(part_text(results, part))


if __name__ == "__main__":
    main()
