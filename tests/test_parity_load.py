"""Built modules under load: the ids are the reference's from any number of threads, in parts of any size and after a fork,
and memory stays bounded."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import modules

# ------------------------------------------------------------------ threads, parts, processes


def test_neither_threads_nor_parts_show_in_the_ids(pair: tuple[modules.Built, modules.Reference], folder: Path) -> None:
    """Two megabytes, cut over threads; a thread that has learnt other words; documents of very different sizes."""
    built, reference = pair
    text = modules.mixed_text(folder, 1_400_000)
    long_runs = " " * 700_000 + text[:400_000] + "中" * 300_000 + "\n" * 300_000
    for whole in (text, long_runs, text[:700_000] + "<|endoftext|>" + text[700_000:]):
        expected = reference.encode(whole)
        for isa in built.isas:
            with built.isa(isa):
                for threads in (1, 2, 3, 8, 64, None):
                    got = built.module.encode(whole, threads=threads, **reference.options)
                    assert np.array_equal(got, expected), (isa, threads)
    documents = ["", "a", text[:900_000], *text[:20_000].split("\n"), text[: 1 << 20], "", "b" * 200_000, " "]
    ids, offsets = reference.flat(documents)
    for threads in (1, 2, 3, 8, 64, None):
        got = built.module.encode_batch(documents, threads, **reference.options)
        assert np.array_equal(got.ids, ids) and np.array_equal(got.offsets, offsets), threads


def test_parts_that_end_where_a_piece_surely_starts_join_up(
    pair: tuple[modules.Built, modules.Reference], folder: Path
) -> None:
    """Documents cut at a newline before a letter and encoded apart give the ids of the whole (a property of all these
    patterns), so what is kept between calls does not show."""
    built, reference = pair
    text = "".join(
        f"{line}\nx"
        for line in modules.mixed_text(folder, 60_000).replace("<|endoftext|>", "").split("\n")
        if line.strip()
    )
    text = text.replace(" \n", "\n")
    whole = built.module.encode(text, **reference.options)
    assert np.array_equal(whole, reference.encode(text))
    for size in (1, 7, 100):
        lines = text.split("\nx")
        parts = ["\nx".join(lines[i : i + size]) for i in range(0, len(lines), size)]
        heads = [part + "\n" for part in parts[:-1]] + parts[-1:]
        tails = [heads[0], *("x" + part for part in heads[1:])]
        assert "".join(tails) == text
        got = [built.module.encode(part, **reference.options) for part in tails]
        assert np.array_equal(np.concatenate(got), whole), size


def test_eight_python_threads_at_once(pair: tuple[modules.Built, modules.Reference], folder: Path) -> None:
    built, reference = pair
    text = modules.mixed_text(folder, 160_000)
    texts = [text[i * 400 : i * 400 + 400 + i] for i in range(400)]
    ids, offsets = reference.flat(texts)
    right = [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    start = threading.Barrier(8)
    wrong: list[int] = []

    def work(number: int) -> None:
        start.wait()
        for turn in range(3):
            for i in range(number, len(texts), 1 + turn):
                if built.module.encode(texts[i], **reference.options).tolist() != right[i]:
                    wrong.append(i)
            got = built.module.encode_batch(texts, 2, **reference.options)
            if not np.array_equal(got.ids, ids) or built.module.decode(right[number]) == "":
                wrong.append(-1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert wrong == []


FORK = """
import os, sys, threading
sys.path.insert(0, {folder!r})
import under_test_{name} as module

text = "It's a test of forks, 中文 and naïve words \\U0001f9e9 1234. " * 30
big = text * 1200
right = module.encode(text, special="text").tolist()
big_count = len(module.encode(big, threads=4, special="text"))
stop = threading.Event()

def busy():
    while not stop.is_set():
        module.encode(big[:200_000], threads=2, special="text")

threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads:
    thread.start()
children = []
for _ in range(10):
    child = os.fork()
    if child == 0:
        ok = module.encode(text, special="text").tolist() == right
        ok = ok and len(module.encode(big, threads=4, special="text")) == big_count
        done = []
        others = [threading.Thread(target=lambda: done.append(module.count(text, special="text"))) for _ in range(4)]
        for other in others: other.start()
        for other in others: other.join()
        os._exit(0 if ok and done == [len(right)] * 4 else 1)
    children.append(child)
statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
stop.set()
for thread in threads:
    thread.join()
assert statuses == [0] * 10, statuses
assert module.encode(text, special="text").tolist() == right
print("fine")
"""


@pytest.mark.parametrize("model", ["gpt2", "llama3"])
def test_forked_processes_encode_like_their_parent(model: str, folder: Path) -> None:
    """Forked while three other threads encode: the child must not wait for a lock that one of them holds."""
    modules.build_model(model, folder)
    script = FORK.format(folder=str(folder), name=model)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stdout == "fine\n", done.stderr[-2000:]


def run_script(folder: Path, name: str, script: str) -> None:
    path = folder / f"{name}.py"
    path.write_text(f"import sys\nsys.path.insert(0, {str(folder)!r})\nimport under_test_gpt2 as module\n{script}")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_pools_of_forked_and_of_new_processes(folder: Path) -> None:
    modules.build_model("gpt2", folder)
    script = """
import multiprocessing as mp

def encode(text):
    return module.encode(text).tolist()

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with mp.get_context(method).Pool(2) as pool:
            assert pool.map(encode, ["Hello world", "it's", ""] * 5) == [[15496, 995], [270, 338], []] * 5, method
            lists = pool.map(module.tokenizer.encode, ["Hello world"])
            assert lists[0].tolist() == [15496, 995], method
"""
    run_script(folder, "pool_check", script)


def test_functions_of_a_module_can_be_pickled(folder: Path) -> None:
    """`pool.map(gpt2.encode, texts)` is the first thing one tries."""
    modules.build_model("gpt2", folder)
    script = """
import pickle
for name in ("encode", "encode_batch", "count", "decode", "decode_bytes", "encode_file"):
    function = pickle.loads(pickle.dumps(getattr(module, name)))
    assert name != "encode" or function("Hello world").tolist() == [15496, 995]
"""
    run_script(folder, "pickle_check", script)


# ------------------------------------------------------------------ memory

LIMIT = 64 << 20
MEMORY = """
import os, sys
sys.path.insert(0, {folder!r})
import numpy as np
import under_test_{name} as module

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

encode, engine = module.encode, module._module.engine
rng = np.random.default_rng(8)

def one_pass():
    digest, largest = 0, 0
    for i in range(200_000):
        digest = (digest * 31 + int(encode(f"w{{i}}")[-1])) % (1 << 61)
    largest = max(largest, engine.thread_bytes())
    letters = np.random.default_rng(8)
    for i in range(60):
        text = letters.integers(97, 123, 100_000, dtype=np.uint8).tobytes()
        digest = (digest * 31 + len(encode(text))) % (1 << 61)
    for text in ("a" * 2_000_000, "中" * 600_000, " " * 2_000_000):
        digest = (digest * 31 + len(encode(text))) % (1 << 61)
        largest = max(largest, engine.thread_bytes())
    return digest, max(largest, engine.thread_bytes())

passes = [one_pass()]
for _ in range(6):  # caches fill up to their bounds: long words are kept when they come again
    passes.append(one_pass())
    if passes[-1][1] == passes[-2][1]:
        break
before = resident()
passes.append(one_pass())
growth = resident() - before
assert len(set(digest for digest, _ in passes)) == 1, "other ids in another pass"
assert max(held for _, held in passes) < {limit}, passes
assert growth < 2 << 20, growth
engine.release_thread()
assert engine.thread_bytes() == 0
"""


@pytest.mark.parametrize("model", ["gpt2", "llama3"])
def test_memory_of_a_thread_is_bounded(model: str, folder: Path) -> None:
    """Hundreds of thousands of distinct words, then long texts without a space, again and again: after a few passes nothing
    is added, ids stay the same, and a thread keeps less than 64 MB."""
    modules.build_model(model, folder)
    script = MEMORY.format(folder=str(folder), name=model, limit=LIMIT)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_memory_after_all_kinds_of_text(pair: tuple[modules.Built, modules.Reference], folder: Path) -> None:
    built, reference = pair
    for name in modules.corpus_names():
        built.module.encode(modules.corpus(name, folder)[:400_000], **reference.options)
    built.module.encode("ab" * 500_000, **reference.options)
    assert 0 < built.module._module.engine.thread_bytes() < LIMIT


def test_threads_that_come_and_go_leave_no_memory_behind(folder: Path) -> None:
    modules.build_model("gpt2", folder)
    script = f"""
import os, sys, threading
sys.path.insert(0, {str(folder)!r})
import under_test_gpt2 as module

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def turn():
    threads = [threading.Thread(target=module.encode, args=("some words and 中文 " * 2000,)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

for _ in range(20): turn()
before = resident()
for _ in range(100): turn()
assert resident() - before < 8 << 20, resident() - before
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
