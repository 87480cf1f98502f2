"""The project's goals (issue 2) against a result file: which are met, and by how much one is missed."""

from __future__ import annotations

from typing import Any

from benchmarks.engines import OURS
from benchmarks.summary import is_ours, ratio, rows_of, startup_of

AVX2 = f"{OURS}-avx2"
# corpus, figure, engine, at least this times the best rival, aim
RATIOS = (
    ("english", "replay", OURS, 1.5, 2.0),
    ("english", "first", OURS, 2.0, 3.0),
    ("english", "settled", OURS, 2.0, 3.0),
    ("zh", "first", OURS, 2.0, 2.0),
    ("zh", "settled", OURS, 2.0, 2.0),
    ("english", "replay", AVX2, 1.2, 1.2),
)
CALL_SHARE, CALL_AIM = 0.4, 0.25  # of tokenizers 1.0.0rc3's median for 512 bytes
IMPORT_MS, IMPORT_MB = 20.0, 10.0


def check_goals(result: dict[str, Any]) -> str:
    rows, started = rows_of(result), startup_of(result)
    lines = []
    for model in result["settings"]["models"]:
        for corpus, figure, engine, least, aim in RATIOS:
            value = ratio(rows.get((model, corpus, figure), {}), engine)
            lines.append(verdict(f"{model} {corpus} {figure}, {engine}, by the best rival", value, least, aim))
        calls = rows.get((model, result["settings"]["short_corpus"], "short-512"), {})
        ours, rival = calls.get(OURS), calls.get("tokenizers-rc")
        share = ours.value / rival.value if ours and rival and ours.ranked and rival.ranked else None
        lines.append(verdict(f"{model} 512-byte call, share of rc3's", share, CALL_SHARE, CALL_AIM, less=True))
        times = started.get((model, OURS), {})
        lines.append(verdict(f"{model} import, ms", times.get("import"), IMPORT_MS, IMPORT_MS, less=True))
        lines.append(verdict(f"{model} import, private MB", times.get("import_mb"), IMPORT_MB, IMPORT_MB, less=True))
    wrong = sum(is_ours(cell["engine"]) and cell["verdict"] not in ("same", "skip") for cell in result["cells"])
    lines.append(f"{'met   ' if not wrong else 'MISSED'}  ids as in the reference: {wrong} of our cells are not")
    return "\n".join(lines)


def verdict(name: str, value: float | None, least: float, aim: float, less: bool = False) -> str:
    if value is None:
        return f"absent  {name}"
    met, aimed = (value <= least, value <= aim) if less else (value >= least, value >= aim)
    word = "aim   " if aimed and aim != least else "met   " if met else "MISSED"
    return f"{word}  {name}: {value:.2f} (goal {'<=' if less else '>='} {least:g}, aim {aim:g})"
