#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""build.py - ninja, and a sign that it goes on: one line on a terminal that counts, elsewhere a line now and then.

usage: build.py variant [target ...]

What compilers and linkers say is passed on. What Meson says when it reads its files again is of
interest only when it fails, and shown then.
"""

import os
import re
import subprocess
import sys
import time

import variants

STEP = re.compile(r'\[(\d+)/(\d+)\] ?(.*)$')
EVERY_SECONDS = 10          # between two lines where there is no terminal
COLUMNS = 78


class Progress:
    """Steps of one build as they are told, shown the way `stream` can show them."""

    def __init__(self, name, stream, clock=time.monotonic):
        self.name = name
        self.stream = stream
        self.clock = clock
        self.started = self.last = clock()
        self.on_terminal = stream.isatty()
        self.is_line_open = False

    def step(self, done, total, what):
        now = self.clock()
        if self.on_terminal:
            line = f'{self.name}: [{done}/{total}] {what}'
            self.stream.write('\r' + line[:COLUMNS] + '\x1b[K')
            self.is_line_open = True
        elif now - self.last >= EVERY_SECONDS:
            self.last = now
            self.stream.write(f'{self.name}: {done} of {total} steps, {now - self.started:.0f} s\n')
        self.stream.flush()

    def say(self, line):
        self.close()
        self.stream.write(line + '\n')
        self.stream.flush()

    def close(self):
        """The line that counts makes room for others."""
        if self.is_line_open:
            self.stream.write('\r\x1b[K')
            self.stream.flush()
        self.is_line_open = False


def follow(lines, progress):
    """Shows what ninja prints. -> what Meson said last, for the case that it failed"""
    kept, is_meson_talking = [], False
    for line in lines:
        line = line.rstrip('\n')
        match = STEP.match(line)
        if match:
            is_meson_talking = match.group(3).startswith('Regenerating build files')
            kept = []
            progress.step(int(match.group(1)), int(match.group(2)), match.group(3))
        elif is_meson_talking:
            kept.append(line)
        elif line and not line.startswith(('ninja: Entering directory', 'ninja: no work to do')):
            progress.say(line)
    progress.close()
    return kept


def ninja(path, targets=(), options=()):
    """True when all targets are built."""
    progress = Progress(os.path.basename(path), sys.stdout)
    with subprocess.Popen(['ninja', '-C', path, *options, *targets], text=True, errors='replace',
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, 'NINJA_STATUS': '[%f/%t] '}) as process:
        kept = follow(process.stdout, progress)
    if process.returncode != 0:
        for line in kept:
            progress.say(line)
    return process.returncode == 0


def main(arguments):
    if not arguments or arguments[0] not in variants.VARIANTS:
        raise SystemExit(f'build.py: expected one of: {" ".join(variants.VARIANTS)}')
    return 0 if ninja(variants.directory(arguments[0]), arguments[1:]) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
