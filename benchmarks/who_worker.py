"""One engine with one definition, in a process of its own: it may refuse, hang or die without harm to anything else.

    who_worker.py JOB MEGABYTES          JOB: the fields of `rivals.Job` as JSON

First line out: {"load": "loaded"}, or "refuses" or "no reader" with a message. Then each line in is a text as JSON, and
each line out {"ids": [...]} or {"raises": "message"}. Whatever else the engine prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    name = type(error).__name__
    return f"{name}: {lines[0][:300]}" if lines[0] else name


def answer(load: Callable[[], Callable[[str], Any]], no_reader: type[Exception]) -> None:
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)

    def send(reply: dict[str, Any]) -> None:
        replies.write(json.dumps(reply) + "\n")
        replies.flush()

    try:
        encode = load()
    except no_reader as reason:
        return send({"load": "no reader", "message": str(reason)})
    except BaseException as error:  # noqa: BLE001  # a panic of a Rust extension is not an Exception
        return send({"load": "refuses", "message": first_line(error)})
    send({"load": "loaded"})
    for line in sys.stdin:
        text = json.loads(line)
        try:
            ids = [int(id) for id in encode(text)]
        except BaseException as error:  # noqa: BLE001
            send({"raises": first_line(error)})
        else:
            send({"ids": ids})
    return None


def main() -> None:
    import resource

    size = int(sys.argv[2]) << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(max(0, 10 - os.nice(0)))
    sys.path[0] = ROOT  # `import benchmarks`, and never a file of this folder in an engine's place
    from benchmarks import engines, rivals  # noqa: F401

    sys.path.remove(ROOT)
    job = rivals.Job(**json.loads(sys.argv[1]))
    load = rivals.reference if job.engine == rivals.REFERENCE else rivals.RIVALS[job.engine].load
    answer(lambda: load(job), rivals.NoReader)


if __name__ == "__main__":
    main()
