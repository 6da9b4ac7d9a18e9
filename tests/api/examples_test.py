#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples run and say what they should, and the README shows the first of them as it is.

usage: examples_test.py <README.md> <first_allocation.c> <first_allocation> <first_device>
"""
import pathlib
import re
import subprocess
import sys


LICENCE = '/* SPDX-License-Identifier: MIT */\n'


def output_of(program):
    """What it says, or None when it fails or says anything on standard error."""
    result = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    return result.stdout if result.returncode == 0 and not result.stderr else None


def main():
    readme, source, first_allocation, first_device = sys.argv[1:]
    shown = re.findall(r'```c\n(.*?)```', pathlib.Path(readme).read_text(), re.S)
    checks = [
        ('an allocation is created, locked and written',
         output_of(first_allocation) == 'video memory\n'),
        ('a device is created',
         re.fullmatch(r'status 0x00000000, device 0x[0-9a-f]{8}\n', output_of(first_device) or '')),
        ('the README shows the program that is built',
         shown == [pathlib.Path(source).read_text().removeprefix(LICENCE)]),
    ]
    print('1..%d' % len(checks))
    for number, (claim, good) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {claim}")
    return not all(good for _, good in checks)


if __name__ == '__main__':
    sys.exit(main())
