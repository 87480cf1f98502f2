"""What the figures were made on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

FLAGS = ("sse4_2", "avx2", "bmi2", "avx512bw", "avx512vl", "avx512_vbmi", "avx512_vbmi2", "asimd", "sve", "hypervisor")


def read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def cpu_facts() -> tuple[str, list[str]]:
    """(model name, the flags that decide what an engine can use)"""
    model, flags = platform.processor() or platform.machine(), set[str]()
    for line in read_text("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            model = value.strip()
        elif key.strip() in ("flags", "Features"):
            flags = set(value.split())
    return model, [flag for flag in FLAGS if flag in flags]


def cache_sizes() -> dict[str, str]:
    caches = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind = {"Data": "d", "Instruction": "i", "Unified": ""}.get(read_text(f"{folder}/type"), "")
        caches[f"L{read_text(f'{folder}/level')}{kind}"] = read_text(f"{folder}/size")
    return caches


def compiler() -> str:
    command = shutil.which(os.environ.get("CC", "cc"))
    if not command:
        return "none"
    lines = subprocess.run([command, "--version"], check=False, capture_output=True, text=True).stdout.splitlines()
    return lines[0] if lines else "?"


def huge_pages() -> str:
    chosen = read_text("/sys/kernel/mm/transparent_hugepage/enabled")
    return chosen[chosen.find("[") + 1 : chosen.find("]")] if "[" in chosen else "unknown"


def memory_megabytes() -> int:
    for line in read_text("/proc/meminfo").splitlines():
        if line.startswith("MemTotal"):
            return int(line.split()[1]) // 1000
    return 0


def load_average() -> list[float]:
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else []


def usable_cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def describe_machine() -> dict[str, object]:
    model, flags = cpu_facts()
    return {
        "cpu": model,
        "flags": flags,
        "cores": os.cpu_count(),
        "caches": cache_sizes(),
        "memory_mb": memory_megabytes(),
        "system": f"{platform.system()} {platform.release()}",
        "compiler": compiler(),
        "python": platform.python_version(),
        "byte_order": sys.byteorder,
        "transparent_huge_pages": huge_pages(),
        "governor": read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "unknown",
    }
