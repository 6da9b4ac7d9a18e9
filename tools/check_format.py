#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_format.py - the code is laid out as clang-format lays it out.

usage: check_format.py [--fix] [root]

The public headers are not looked at: their tables are aligned by hand.
"""

import re
import subprocess
import sys

import tap
import tree

FOLDERS = ('src', 'drivers', 'embed', 'cli', 'server', 'umd', 'tests', 'bench', 'examples')
VERSION = '14'            # another version lays out some lines differently
BATCH = 64


def clang_format(root, paths, *options):
    """-> everything it printed"""
    said = ''
    for first in range(0, len(paths), BATCH):
        done = subprocess.run(['clang-format', '--style=file', *options,
                               *paths[first:first + BATCH]],
                              cwd=root, capture_output=True, text=True, check=False)
        said += done.stdout + done.stderr
    return said


def format_paths(root):
    return [p for p in tree.project_files(root)
            if tree.under(p, FOLDERS) and p.endswith(('.c', '.h', '.cpp'))]


def check(root):
    problems = {}
    for line in clang_format(root, format_paths(root), '--dry-run').splitlines():
        match = re.match(r'(\S+?:\d+):\d+: (?:error|warning): code should be', line)
        if match:
            problems.setdefault(match.group(1).rsplit(':', 1)[0],
                                f'{match.group(1)}: not laid out as clang-format does it; '
                                '`make format` does')
        elif re.match(r'.*\berror: |Error ', line):
            problems.setdefault(line, line)
    return [('clang-format would change nothing', list(problems.values()))]


def main(arguments):
    roots = [a for a in arguments if not a.startswith('-')]
    root = roots[0] if roots else tree.ROOT
    try:
        version = subprocess.run(['clang-format', '--version'], capture_output=True, text=True,
                                 check=True).stdout
    except FileNotFoundError:
        version = 'no clang-format'
    if not re.search(rf'version {VERSION}\.', version):
        reason = f'clang-format {VERSION} needed, found: {version.strip()}'
        if '--fix' in arguments:
            raise SystemExit(reason)
        return tap.report([], skip=reason)
    if '--fix' in arguments:
        print(clang_format(root, format_paths(root), '-i'), end='')
        return 0
    return tap.report(check(root))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
