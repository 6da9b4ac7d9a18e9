#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_words.py - nothing binary, no leftovers, no paths of somebody's machine, no file that outgrew its question, a licence
in each source.

usage: check_words.py [root]
"""

import re
import sys

import tap
import tree

CODE = ('.c', '.h', '.cpp', '.hpp', '.def', '.inc')
SOURCES = CODE + ('.py', '.sh')
MAX_LINES = 800
LEFTOVERS = re.compile(r'\b(todo|fixme|xxx|hack|stub|for now|simplif(?:y|ied) version'
                       r'|not yet implemented)\b', re.IGNORECASE)
# Spelled in pieces, so that this file does not contain what it looks for.
MACHINE_PATHS = re.compile(r'(?<![\w.~-])/(?:' + '|'.join(('work', 'farm', 'root')) + r')/')
# Names that strangers stumbled over: docs/glossary.md has what each is called now.
OLD_NAMES = re.compile(r'\b(?:(?:fence|client)_places?\w*|shown_(?:file|run|version)\w*|\w*(?<!sim_)epoch\w*'
                       r'|EVICT_LISTED|(?:->|\.)listed|farewell\w*|undertaker\w*|burial\w*|mourning\w*|herald\w*'
                       r'|hope\w*|seeker\w*)\b')
NAMED = ('src/', 'embed/', 'server/')
LICENSED = SOURCES + ('.build', '.yml', '.pc.in')
# Headers have Microsoft's shape, and ABI tables one row for each field.
LONG_ALLOWED = ('include/', 'tests/abi/')


def each_match(root, path, pattern):
    for number, line in enumerate(tree.read(root, path).splitlines(), 1):
        match = pattern.search(line)
        if match:
            yield f'{path}:{number}', match.group(0)


def is_text(root, path):
    with open(f'{root}/{path}', 'rb') as file:
        return b'\0' not in file.read(4096)


def check(root):
    everything = list(tree.project_files(root))
    paths = [p for p in everything if is_text(root, p)]
    lengths = [(p, len(tree.read(root, p).splitlines())) for p in paths
               if p.endswith(SOURCES) and not p.startswith(LONG_ALLOWED)]
    return [
        ('every file is text',
         [f'{p}: is binary: something was built, or dumped, into the tree'
          for p in everything if p not in paths]),
        ('no leftovers in the code',
         [f'{where}: "{word}" is unfinished business'
          for p in paths if p.endswith(CODE) for where, word in each_match(root, p, LEFTOVERS)]),
        ('no names that were given up',
         [f'{where}: "{word}" has another name now: docs/glossary.md'
          for p in paths if p.startswith(NAMED) and p.endswith(CODE) for where, word in each_match(root, p, OLD_NAMES)]),
        ('no paths of one machine',
         [f'{where}: {word} exists on one machine only'
          for p in paths for where, word in each_match(root, p, MACHINE_PATHS)]),
        ('sources say their licence',
         [f'{p}:1: no SPDX-License-Identifier' for p in paths if p.endswith(LICENSED)
          and 'SPDX-License-Identifier: MIT' not in ''.join(tree.read(root, p).splitlines()[:3])]),
        (f'no source over {MAX_LINES} lines',
         [f'{p}:{MAX_LINES + 1}: {count} lines; a second question has moved in'
          for p, count in lengths if count > MAX_LINES]),
    ]


if __name__ == '__main__':
    sys.exit(tap.report(check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)))
