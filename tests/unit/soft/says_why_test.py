# SPDX-License-Identifier: MIT
"""soft.so says why whenever an entry point of it fails: no bare status is returned."""
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../tools'))
import tap

# Decoders, whose callers say what was wrong, and what runs on the engines' own threads.
JUDGED_BY_CALLERS = {"command.c", "settings.c", "execute.c", "reach.c", "transfer.c"}
# "Once more, with more room" is no refusal.
BARE = re.compile(r"return (?:[^;]*[?:] )?STATUS_(?!SUCCESS\b|GRAPHICS_INSUFFICIENT_DMA_BUFFER\b)\w+;")


def main(folders):
    bare = []
    for path in sorted(path for folder in folders for path in pathlib.Path(folder).glob("*.c")):
        if path.name in JUDGED_BY_CALLERS:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if BARE.search(line):
                bare.append(f"{path.name}:{number}: {line.strip()}")
    return tap.report([("no entry point returns a bare status", bare)])


sys.exit(main(sys.argv[1:]))
