"""One engine in one fresh process, for `latency.py`; prints lines of JSON.

    latency_worker.py TASK key=value ...

`texts` cuts the texts with the reference. `serve` times calls as it is told on its input, so that a parent can let engines
take turns. `instructions` runs under callgrind, `allocations` with the counter preloaded; `memory` and `linear` need nothing.
The process pins itself before anything else is imported, as `worker.py` does.
"""

from __future__ import annotations

import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARK = "@@"
WAKE = "Vexil quorb, zunthic 7 brimfolds."
"""Encoded untimed before a stretch of calls: whatever is lazy is there, and no word of it is in a corpus."""


def say(report: dict[str, object]) -> None:
    import json

    print(MARK + json.dumps(report), flush=True)


def read_texts(path: str) -> list[str]:
    import json

    with open(path, encoding="utf-8") as file:
        texts: list[str] = json.load(file)
    return texts


def load(options: dict[str, str]):  # type: ignore[no-untyped-def]
    """(engine, its calls, seconds of loading)"""
    import gc

    from benchmarks.latency_engines import ENGINES
    from benchmarks.worker import allow_huge_pages

    allow_huge_pages()
    engine = ENGINES[options["engine"]]
    start = time.perf_counter()
    calls = engine.load(options["path"], options.get("special") == "1")
    seconds = time.perf_counter() - start
    gc.collect()
    gc.freeze()  # what loading left behind is not scanned again inside timed calls
    return engine, calls, seconds


def our_module(options: dict[str, str]):  # type: ignore[no-untyped-def]
    """Our compiled module if that is the engine, and it is loaded."""
    return sys.modules.get(os.path.basename(options["path"].rstrip("/"))) if options["engine"] == "ours" else None


def describe(options: dict[str, str], engine) -> dict[str, object]:  # type: ignore[no-untyped-def]
    module = our_module(options)
    if module is not None:
        native = getattr(getattr(module, "_module", None), "engine", None)
        return {
            "version": str(getattr(module, "__version__", "?")),
            "isa": getattr(native, "isa", "none"),
            "tier": getattr(native, "engine", "?"),
        }
    from importlib.metadata import version

    return {"version": version(engine.distribution) if engine.distribution else "?"}


# ------------------------------------------------------------------ the texts


def cut(options: dict[str, str]) -> dict[str, object]:
    """Texts of each wanted size of one corpus, as files `OUT-SIZE.json`. sizes: SIZE:COUNT,..."""
    import json

    from benchmarks.latency_texts import cut_texts

    with open(options["corpus"], encoding="utf-8", newline="") as file:
        text = file.read()
    count = counter(options["kind"], options["path"])
    made = {}
    for pair in options["sizes"].split(","):
        tokens, wanted = (int(part) for part in pair.split(":"))
        texts = cut_texts(text, tokens, wanted, count)
        with open(f"{options['out']}-{tokens}.json", "w", encoding="utf-8") as file:
            json.dump(texts, file)
        made[str(tokens)] = {"texts": len(texts), "bytes": sum(len(text.encode()) for text in texts)}
    return {"sizes": made}


def counter(kind: str, path: str):  # type: ignore[no-untyped-def]
    """How many ids the reference gives a text, special tokens included."""
    if kind == "tokenizer.model":
        import sentencepiece

        processor = sentencepiece.SentencePieceProcessor(model_file=path)
        return lambda text: len(processor.EncodeAsIds(text))
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=True))


# ------------------------------------------------------------------ latency


def nothing(texts: list[str]) -> None:
    for _text in texts:
        pass


def time_calls(each, texts: list[str], budget: float) -> tuple[list[int], float]:  # type: ignore[no-untyped-def]
    """(nanoseconds of each call, less what the clock and an empty loop cost; share of the core that was had)

    Ends early when `budget` seconds are over; then the list is shorter than `texts`.
    """
    from statistics import median

    clock, spent, empty = time.perf_counter_ns, [], []
    used, wall = time.process_time(), time.perf_counter()
    for text in texts:
        one = [text]
        start = clock()
        nothing(one)
        empty.append(clock() - start)
        start = clock()
        each(one)
        spent.append(clock() - start)
        if time.perf_counter() - wall > budget:
            break
    share = (time.process_time() - used) / max(time.perf_counter() - wall, 1e-9)
    overhead = int(median(empty)) if empty else 0
    return [max(0, nanoseconds - overhead) for nanoseconds in spent], share


def serve(options: dict[str, str]) -> dict[str, object]:
    """Answers one line a request: {"do": "time", "from", "to", "seconds", "again"}, {"do": "ids", "to"}, or the end of input."""
    import json

    from benchmarks.digests import digest_ids

    texts = read_texts(options["texts"])
    engine, calls, seconds = load(options)
    say({"ready": True, "load_s": seconds, **describe(options, engine)})
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "time":
            begin, end = request["from"], request["to"]
            calls.each([WAKE] * 3)
            if request["again"]:  # the caches of the CPU are back before the clock starts
                calls.each(texts[max(0, begin - 2) : begin] or texts[end : end + 2])
            spent, share = time_calls(calls.each, texts[begin:end], request["seconds"])
            say({"ns": spent, "share": round(share, 3)})
        else:
            kept = [calls.ids(text) for text in texts[: request["to"]]]
            say({"digests": [digest_ids(ids, [0, len(ids)]) for ids in kept], "tokens": sum(map(len, kept))})
    return {"done": True}


# ------------------------------------------------------------------ instructions


def instructions(options: dict[str, str]) -> dict[str, object]:
    """Instructions of a call: N calls and 2N calls of the same warm texts, and N of texts never seen, each counted alone.

    Two rounds of that, so that it shows whether the counts repeat. Numbers are read by the parent, out of callgrind's files.
    """
    import ctypes

    counter = ctypes.CDLL(options["counter"])
    if not counter.instruction_counter_ready():
        return {"error": "not under valgrind"}
    texts = read_texts(options["texts"])
    n = min(int(options["calls"]), len(texts) // 2)
    if not n:
        return {"error": "too few texts"}
    warm, fresh = texts[:n], texts[n : 2 * n]
    engine, calls, _ = load(options)
    regions = {"empty": [], "once-0": warm, "twice-0": warm * 2, "once-1": warm, "twice-1": warm * 2, "first": fresh}
    calls.each([WAKE])
    if options.get("unseen") != "1":
        calls.each(warm * 2)
    counter.instruction_counter_start()
    calls.each([WAKE])  # the instrumented code of the calls is made
    for name, part in regions.items():
        counter.instruction_counter_zero()
        calls.each(part)
        counter.instruction_counter_dump(name.encode())
    return {"calls": n, "regions": list(regions), "libraries": list(engine.libraries), **describe(options, engine)}


# ------------------------------------------------------------------ allocations


def library_ranges(parts: list[str]) -> list[tuple[int, int]]:
    """Where the code of the shared objects is whose paths have one of these parts."""
    found = []
    with open("/proc/self/maps") as file:
        for line in file:
            fields = line.split(maxsplit=5)
            if (
                len(fields) == 6
                and "x" in fields[1]
                and any(part in fields[5] for part in parts)
                and ".so" in fields[5]
            ):
                begin, _, end = fields[0].partition("-")
                found.append((int(begin, 16), int(end, 16)))
    return found


def allocations(options: dict[str, str]) -> dict[str, object]:
    """Calls of the allocator for a warm text: the difference of 2N and N calls, by N. Of ours also for the C core alone."""
    import ctypes

    counter = ctypes.CDLL(None)
    if not hasattr(counter, "alloc_counter_read"):
        return {"error": "the counter is not preloaded"}
    texts = read_texts(options["texts"])[: int(options["calls"])]
    engine, calls, _ = load(options)
    calls.each(texts * 2)
    ranges = library_ranges(list(engine.libraries))
    for begin, end in ranges:
        counter.alloc_counter_add_range(ctypes.c_uint64(begin), ctypes.c_uint64(end))
    numbers = (ctypes.c_uint64 * 4)()

    def counted(function, argument) -> list[int]:  # type: ignore[no-untyped-def]
        counter.alloc_counter_read(numbers)
        before = list(numbers)
        function(argument)
        counter.alloc_counter_read(numbers)
        return [after - start for after, start in zip(numbers, before, strict=True)]

    def of_a_call(function, once, twice) -> dict[str, float]:  # type: ignore[no-untyped-def]
        counted(function, twice)  # warm
        single, double = counted(function, once), counted(function, twice)
        names = ("calls", "inside", "bytes", "bytes_inside")
        return {name: (two - one) / len(texts) for name, one, two in zip(names, single, double, strict=True)}

    report: dict[str, object] = {"encode": of_a_call(calls.each, texts, texts * 2), "ranges": len(ranges)}
    module = our_module(options)
    if module is not None and getattr(module._module.engine, "engine", "") == "native":
        report["core"] = core_allocations(module, texts, of_a_call)
    return report | {"texts": len(texts)} | describe(options, engine)


def core_allocations(module, texts: list[str], of_a_call):  # type: ignore[no-untyped-def]
    """The C core without Python: gt_count, which walks a text like encoding does and stores ids in the thread's scratch."""
    import importlib

    native = importlib.import_module(f"{module.__name__}._native")
    ffi, count = native.ffi, native.lib.gt_count
    call = ffi.new("gt_call *", {"threads": 1})
    buffers = [(ffi.from_buffer(data), len(data), data) for data in (text.encode() for text in texts)]

    def run(items) -> None:  # type: ignore[no-untyped-def]
        for pointer, length, _ in items:
            count(pointer, length, call)

    return of_a_call(run, buffers, buffers * 2)


# ------------------------------------------------------------------ memory


def memory(options: dict[str, str]) -> dict[str, object]:
    """Growth of private pages in kB since before the import: after import and load, after short and after many texts."""
    from benchmarks.latency_engines import ENGINES
    from benchmarks.worker import private_kilobytes

    few, many = read_texts(options["texts"]), read_texts(options["more"])
    before = private_kilobytes()
    for name in ENGINES[options["engine"]].modules:
        __import__(name)
    engine, calls, _ = load(options)
    report: dict[str, object] = {}
    for name, texts in (("loaded", [WAKE]), ("warm", few), ("full", many)):
        deadline = time.perf_counter() + float(options.get("seconds", "10"))
        for text in texts:
            calls.each([text])
            if time.perf_counter() > deadline:
                report["cut"] = name
                break
        now = private_kilobytes()
        report[f"{name}_kb"] = {key: now[key] - before[key] for key in ("Private_Dirty", "Private_Clean")}
    module = our_module(options)
    thread_bytes = getattr(getattr(getattr(module, "_module", None), "engine", None), "thread_bytes", None)
    if thread_bytes is not None:
        report["thread_bytes"] = thread_bytes()
    return report | describe(options, engine)


# ------------------------------------------------------------------ one long word


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def long_word(kind: str, length: int, number: int = 0) -> str:
    """`length` letters without a space: one letter, or letters in random order. Each `number` is another word."""
    if kind == "one letter":
        return LETTERS[number] * length
    import random

    return "".join(random.Random(f"{length} {number}").choices(LETTERS, k=length))


def linear(options: dict[str, str]) -> dict[str, object]:
    """Seconds of a word of each size; the longer ones are left out when they would take more than the budget.

    A line is printed for each, so that something is known of a process that the parent has to end.
    """
    from benchmarks.digests import digest_ids

    engine, calls, _ = load(options)
    budget = float(options["seconds"])
    calls.each([WAKE])
    for kind in ("one letter", "letters that do not repeat"):
        last: tuple[int, float] | None = None
        for size in (int(part) for part in options["sizes"].split(",")):
            if last and last[1] * (size / last[0]) > budget:
                say({"kind": kind, "size": size, "skip": f"would take over {budget:.0f} s"})
                continue
            best = None
            for number in range(2):  # another word each time: whole words may be cached
                text = [long_word(kind, size, number)]
                start = time.perf_counter()
                calls.each(text)
                seconds = time.perf_counter() - start
                best = seconds if best is None else min(best, seconds)
                if seconds > budget / 4:
                    break
            report: dict[str, object] = {"kind": kind, "size": size, "seconds": best}
            if last is None:  # the smallest, which every engine can do again
                ids = calls.ids(text[0])
                report |= {"digest": digest_ids(ids, [0, len(ids)]), "ids": len(ids)}
            last = size, best or 0.0
            say(report)
    return {"done": True, **describe(options, engine)}


TASKS = {
    "texts": cut, "serve": serve, "instructions": instructions, "allocations": allocations, "memory": memory,
    "linear": linear,
}  # fmt: skip


def main(arguments: list[str]) -> None:
    task, *pairs = arguments
    options = dict(pair.split("=", 1) for pair in pairs)
    cpu = int(options.get("cpu", "-1"))
    if cpu >= 0 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cpu})
    sys.path[0] = ROOT  # `import benchmarks`, and never a file of this folder in an engine's place
    import numpy  # noqa: F401  # every engine's figures start behind numpy

    from benchmarks import digests, engines, latency_engines, latency_texts, worker  # noqa: F401

    sys.path.remove(ROOT)
    try:
        report = TASKS[task](options)
    except engines.Skip as reason:
        report = {"skip": str(reason)}
    except Exception as error:  # noqa: BLE001  # an engine may raise anything; the parent reports it
        report = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    say(report)


if __name__ == "__main__":
    main(sys.argv[1:])
