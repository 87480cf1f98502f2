"""Side-by-side measurements of compiled tokenizers and their rivals; see README.md in this folder.

The parent (`run.py`) plans and judges; every measurement is one fresh process (`worker.py`) in the engine's own
environment. What a worker imports (`texts`, `digests`, `engines`) needs the standard library and numpy, nothing else.
"""
