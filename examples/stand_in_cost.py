#!/usr/bin/env python3
"""What a stand-in costs other commands of git: `git rev-parse HEAD` with it and without it, in pairs.

    examples/stand_in_cost.py /opt/sluice [<pairs>]

Run it in a repository. It finds the real git in PATH, and prints the medians in milliseconds, then their ratio: of the time
that passed, and of the time on processors, which other programs on the machine disturb less.
"""

import os
import shutil
import statistics
import sys
import time

WORDS = ["git", "rev-parse", "HEAD"]


def run(program):
    """The seconds that passed, and those on processors."""
    start = time.perf_counter()
    null = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(program, WORDS, os.environ, file_actions=null)
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{program} fails")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime


stand_in, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500
git = shutil.which("git")
os.environ["PATH"] = f"{stand_in}:{os.environ['PATH']}"
rounds = [(run(git), run(f"{stand_in}/git")) for _ in range(pairs)]
for column, name in enumerate(["passed", "on processors"]):
    without, with_it = (statistics.median(times[side][column] for times in rounds) for side in (0, 1))
    print(f"{name}: {without * 1e3:.3f} ms without, {with_it * 1e3:.3f} ms with it, ratio {with_it / without:.3f}")
