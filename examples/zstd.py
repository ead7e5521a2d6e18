r"""What a file costs, compressed by zstd with a level, a strategy and a shortest match: size and time.

    semibandit tune "python examples/zstd.py {level} {strategy} {match} {instance}" --state zstd.json \
        --knob level=1..19 --knob strategy=1..9 --knob match=3..7 --default level=3,strategy=2,match=5 files/*

Prints the size compared with that before, and two hundredths for every ten milliseconds of computing.
"""

import os
import resource
import subprocess
import sys


def main() -> None:
    level, strategy, match, path = sys.argv[1:]
    options = f"--zstd=strategy={strategy},minMatch={match}"
    packed = subprocess.run(["zstd", "-q", f"-{level}", options, "-c", path], capture_output=True, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(len(packed.stdout) / os.path.getsize(path) + 2.0 * (used.ru_utime + used.ru_stime))


if __name__ == "__main__":
    main()
