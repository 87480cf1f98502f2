"""One measurement of one engine in one fresh process; prints one JSON line.

    worker.py TASK key=value ...

TASK is `pass` (first pass and replay), `unseen`, `short` (calls of 20 and 512 bytes) or `startup`. The process
pins itself before anything else is imported, because thread pools inherit the mask. Only `startup` cares how
little is imported beforehand, so this file imports as little as it can at the top.
"""

from __future__ import annotations

import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REPORT_MARK = "@@"


def pin(cpu: int) -> bool:
    if cpu < 0 or not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {cpu})
    return True


def private_kilobytes() -> dict[str, int]:
    """Pages that only this process holds, in kB: dirty ones cost memory, clean ones can be read again from files."""
    wanted = {"Private_Dirty": 0, "Private_Clean": 0, "Rss": 0, "AnonHugePages": 0}
    try:
        with open("/proc/self/smaps_rollup") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if name in wanted:
                    wanted[name] = int(rest.split()[0])
    except OSError:
        return {}
    return wanted


class Stopwatch:
    """Wall time of a region, and how much of it this process really ran (less: the core was shared)."""

    def __init__(self) -> None:
        self.wall = 0.0
        self.used = 0.0

    def run(self, function: object, argument: object) -> tuple[float, object]:
        used = time.process_time()
        start = time.perf_counter()
        result = function(argument)  # type: ignore[operator]
        seconds = time.perf_counter() - start
        self.used += time.process_time() - used
        self.wall += seconds
        return seconds, result

    @property
    def share(self) -> float:
        return round(self.used / self.wall, 3) if self.wall else 1.0


def allow_huge_pages() -> None:
    """Clear PR_SET_THP_DISABLE, which a container may have set; an engine that asks for huge pages gets them."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(41, 0, 0, 0, 0)


def load_engine(options: dict[str, str]):  # type: ignore[no-untyped-def]
    """(engine, adapter, load seconds), after importing what the engine would import lazily."""
    import gc

    from benchmarks.engines import find_engine

    allow_huge_pages()
    engine = find_engine(options["engine"])
    for name in engine.lazy:
        __import__(name)
    start = time.perf_counter()
    adapter = engine.load(options["model"])
    seconds = time.perf_counter() - start
    gc.collect()
    gc.freeze()  # what loading left behind is not scanned again inside timed regions
    return engine, adapter, seconds


def way_of(adapter, way: str):  # type: ignore[no-untyped-def]
    """The function to time and the one that reads (ids, offsets) out of its result."""
    from benchmarks.digests import join_ids

    if way == "batch":
        return adapter.batch, adapter.flat_of
    return adapter.loop, lambda results: join_ids(adapter.ids_of(result) for result in results)


def measure_pass(options: dict[str, str]) -> dict[str, object]:
    """First pass over the whole text in a fresh process, then the same text again.

    The first pass is timed in two parts, a call on a one-letter text and then the text: some engines set up lazily
    in their first call (an array library's first array, a pattern's machine code). Tables show the sum and the rest.
    """
    from benchmarks.digests import digest_ids
    from benchmarks.texts import byte_length, read_documents

    documents = read_documents(options["corpus"])
    _, adapter, load_seconds = load_engine(options)
    encode, flatten = way_of(adapter, options["way"])
    first_call, _ = Stopwatch().run(encode, ["a"])
    watch = Stopwatch()
    first, result = watch.run(encode, documents)
    ids, offsets = flatten(result)
    digests, tokens = [digest_ids(ids, offsets)], len(ids)
    replays: list[float] = []
    budget = float(options.get("max_seconds", "10"))
    for _ in range(int(options.get("replays", "5"))):
        if replays and sum(replays) + replays[-1] > budget:
            break
        result = ids = offsets = None  # the last result is freed outside the timing
        seconds, result = watch.run(encode, documents)
        replays.append(seconds)
    if replays:
        digests.append(digest_ids(*flatten(result)))
    memory = private_kilobytes()
    return {
        "bytes": byte_length(documents), "documents": len(documents), "tokens": tokens, "load_s": load_seconds,
        "first_call_s": first_call, "first_s": first, "replay_s": replays, "digests": digests, "cpu_share": watch.share,
        "rss_kb": memory.get("Rss"), "huge_pages_kb": memory.get("AnonHugePages"),
    }  # fmt: skip


def measure_unseen(options: dict[str, str]) -> dict[str, object]:
    """Disjoint slices of one corpus: the first warms the engine up, each of the others is timed once."""
    from benchmarks.digests import digest_digests, digest_ids
    from benchmarks.texts import byte_length, deal_slices, read_documents

    warm_up, *slices = deal_slices(read_documents(options["corpus"]), int(options.get("slices", "5")) + 1)
    _, adapter, load_seconds = load_engine(options)
    encode, flatten = way_of(adapter, options["way"])
    watch = Stopwatch()
    encode(warm_up)
    seconds, digests, tokens = [], [], 0
    for documents in slices:
        elapsed, result = watch.run(encode, documents)
        ids, offsets = flatten(result)
        result = None
        seconds.append(elapsed)
        digests.append(digest_ids(ids, offsets))
        tokens += len(ids)
    return {
        "bytes": [byte_length(documents) for documents in slices], "tokens": tokens, "load_s": load_seconds,
        "slice_s": seconds, "digests": [digest_digests(digests)], "cpu_share": watch.share,
    }  # fmt: skip


BLOCK = 16  # calls between two readings of the clock when the median is taken


def measure_short(options: dict[str, str]) -> dict[str, object]:
    """Calls on distinct short texts, after a warm-up on other ones.

    The median is over blocks of calls, so reading the clock costs next to nothing. The 99th percentile needs each
    call alone: other texts again, less what the clock and an empty loop cost.
    """
    from statistics import median

    from benchmarks.digests import digest_ids, join_ids
    from benchmarks.texts import read_documents, short_texts

    size, wanted = int(options["size"]), int(options.get("calls", "4000"))
    texts = short_texts(read_documents(options["corpus"]), size, wanted * 5 // 2)
    texts = texts[::5] + texts[1::5] + texts[2::5] + texts[3::5] + texts[4::5]  # each part from the whole corpus
    part = len(texts) * 2 // 5
    if part < BLOCK:
        raise ValueError(f"the corpus has only {len(texts)} distinct texts of {size} bytes")
    warm_up, in_blocks, alone = texts[: len(texts) - 2 * part], texts[-2 * part : -part], texts[-part:]
    _, adapter, load_seconds = load_engine(options)
    each, clock = adapter.each, time.perf_counter_ns
    each(warm_up)
    per_call: list[float] = []
    used, wall = time.process_time(), time.perf_counter()
    for at in range(0, part - BLOCK + 1, BLOCK):
        block = in_blocks[at : at + BLOCK]
        start = clock()
        each(block)
        per_call.append((clock() - start) / BLOCK)

    def nothing(texts: list[str]) -> None:
        for _text in texts:
            pass

    empty, calls = [], []
    for text in alone:
        one = [text]
        start = clock()
        nothing(one)
        empty.append(clock() - start)
        start = clock()
        each(one)
        calls.append(clock() - start)
    share = (time.process_time() - used) / max(time.perf_counter() - wall, 1e-9)
    overhead = median(empty)
    calls.sort()
    results = adapter.loop(texts)
    return {
        "size": size, "calls": part, "median_ns": median(per_call), "p99_ns": calls[len(calls) * 99 // 100] - overhead,
        "alone_median_ns": median(calls) - overhead, "clock_ns": overhead, "load_s": load_seconds,
        "digests": [digest_ids(*join_ids(adapter.ids_of(result) for result in results))],
        "cpu_share": round(share, 3),
    }  # fmt: skip


def measure_startup(options: dict[str, str]) -> dict[str, object]:
    """Import, load and first call. numpy is there before; memory is the growth in pages of this process alone."""
    from benchmarks.engines import find_engine, forced_isa

    engine = find_engine(options["engine"])
    ours = engine.environment == "own"
    folder, _, name = options["model"].rstrip("/").rpartition("/")
    if ours:
        sys.path.insert(0, folder)
    modules = (name,) if ours else engine.modules
    before = private_kilobytes()
    start = time.perf_counter()
    for module in modules:
        __import__(module)
    imported = time.perf_counter()
    after_import = private_kilobytes()
    load_start = time.perf_counter()
    adapter = engine.load(options["model"])
    loaded = time.perf_counter()
    after_load = private_kilobytes()
    text = ["The first call of a fresh process."]
    first_start = time.perf_counter()
    results = adapter.loop(text)
    called = time.perf_counter()
    after_call = private_kilobytes()

    def growth(now: dict[str, int]) -> dict[str, int]:
        return {key: now[key] - before[key] for key in now if key in ("Private_Dirty", "Private_Clean")}

    report: dict[str, object] = {
        "import_s": imported - start, "load_s": loaded - load_start, "first_call_s": called - first_start,
        "import_kb": growth(after_import), "loaded_kb": growth(after_load), "called_kb": growth(after_call),
    }  # fmt: skip
    from benchmarks.digests import digest_ids, join_ids

    report["digests"] = [digest_ids(*join_ids(adapter.ids_of(result) for result in results))]
    report["version"] = describe_version(engine.distribution, sys.modules[modules[0]])
    report["isa_forced"] = forced_isa(options["engine"])
    return report


def describe_version(distribution: str, module: object) -> str:
    if not distribution:
        return str(getattr(module, "__version__", "?"))
    from importlib.metadata import version

    return version(distribution)


TASKS = {"pass": measure_pass, "unseen": measure_unseen, "short": measure_short, "startup": measure_startup}


def main(arguments: list[str]) -> None:
    task, *pairs = arguments
    options = dict(pair.split("=", 1) for pair in pairs)
    pinned = pin(int(options.get("cpu", "-1")))
    sys.path[0] = ROOT  # `import benchmarks`, and never a file of this folder in an engine's place
    import numpy  # noqa: F401  # every engine's figures start behind numpy

    from benchmarks import digests, engines, texts  # noqa: F401

    sys.path.remove(ROOT)
    try:
        report = TASKS[task](options)
    except engines.Skip as reason:
        report = {"skip": str(reason)}
    except Exception as error:  # noqa: BLE001  # an engine may raise anything; the parent reports it
        report = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    import json

    report["pinned"] = pinned
    print(REPORT_MARK + json.dumps(report), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
