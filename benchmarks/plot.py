"""One figure: grouped bars by text, first pass beside replay, a row for each model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.engines import REFERENCE
from benchmarks.materials import CORPORA
from benchmarks.report import titles
from benchmarks.summary import is_ours, ratio, rows_of

PANELS = {"first": "first pass (fresh process, after loading)", "replay": "replay (same text again)"}
OURS_COLOURS = ("#b3261e", "#e58a83", "#f2c4c0")
RIVAL_COLOURS = ("#1f4e79", "#4f86b8", "#93b7d6", "#8a8a8a", "#c4c4c4")


def draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib  # type: ignore[import-not-found]

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "benchmarks"  # the same result gives the same file
    import matplotlib.pyplot as plt  # type: ignore[import-not-found]

    rows, heads = rows_of(result), titles(result)
    models, corpora = result["settings"]["models"], result["settings"]["corpora"]
    colours = engine_colours(list(heads))
    figure, axes = plt.subplots(
        len(models), len(PANELS), figsize=(13, 3.2 * len(models) + 0.8), squeeze=False, layout="constrained"
    )
    width = 0.86 / max(len(heads), 1)
    ours = next((engine for engine in heads if is_ours(engine)), None)
    for model, line in zip(models, axes, strict=True):
        for (name, label), axis in zip(PANELS.items(), line, strict=True):
            for at, engine in enumerate(heads):
                bars = [rows.get((model, corpus, name), {}).get(engine) for corpus in corpora]
                places = [index + (at - (len(heads) - 1) / 2) * width for index in range(len(corpora))]
                heights = [bar.value if bar and bar.ranked else 0.0 for bar in bars]
                axis.bar(places, heights, width, color=colours[engine], label=heads[engine])
                for x, bar in zip(places, bars, strict=True):
                    if bar and not bar.ranked and bar.verdict != "skip":
                        axis.annotate("×", (x, 0), ha="center", va="bottom", fontsize=8)
                if engine == ours:
                    for x, corpus, height in zip(places, corpora, heights, strict=True):
                        times = ratio(rows.get((model, corpus, name), {}), engine)
                        if times:
                            axis.annotate(f"{times:.1f}×", (x, height), ha="center", va="bottom", fontsize=8)
            axis.set_xticks(range(len(corpora)), [CORPORA[corpus][1] for corpus in corpora])
            axis.set_title(f"{model}, {label}", fontsize=10)
            axis.set_ylabel("MB/s, one core")
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(axis="y", alpha=0.3)
            axis.set_axisbelow(True)
    facts = result["machine"]
    figure.suptitle(f"{facts['cpu']}, {result['date']}; higher is better; N× is to the best rival", fontsize=9)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4), fontsize=9, frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)
    plt.close(figure)


def engine_colours(engines: list[str]) -> dict[str, str]:
    """Ours in reds, rivals in blues and greys; the reference, never a bar to speak of, takes the last grey."""
    ours = iter(OURS_COLOURS * 4)
    rivals = iter(RIVAL_COLOURS * 4)
    return {
        engine: next(ours) if is_ours(engine) else RIVAL_COLOURS[-1] if engine == REFERENCE else next(rivals)
        for engine in engines
    }
