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
OLD_NAMES = re.compile(r'\b(?:(?:fence|client|symbol|nt|script|gpuva|fault)_places?\w*|shown_(?:file|run|version)\w*'
                       r'|\w*(?<!sim_)epoch\w*|EVICT_LISTED|(?:->|\.)listed|farewell\w*|undertaker\w*|burial\w*'
                       r'|mourning\w*|herald\w*|hope\w*|seeker\w*|(?:pci|share)_space\w*|queue_(?:un)?place\w*'
                       r'|\w*placed_anew\w*|joined_\w*|\w*_joined)\b')
# Free memory of a segment is room; an array has a capacity, a message a buffer, a queue slots.
MEMORY_NAMES = re.compile(r'(?<!patches\.)\b(?:room|is_room|has_room\w*|make_room\w*|\w+_await_room\w*|[a-z]+_room'
                          r'|\w*_?ROOM_BYTES)\b')
MEMORY = ('src/vidmm/', 'src/evict/', 'src/ranges/', 'src/replay/', 'cli/run/exerciser.', 'cli/run/soft_exerciser.',
          'tests/unit/vidmm/', 'tests/unit/evict/', 'tests/unit/ranges/', 'tests/unit/paging/behind_test.c',
          'tests/unit/pagetable/page_tables_random_test.c', 'tests/api/destroyed_memory_test.c',
          'tests/api/gpuva_copy_room_test.c', 'tests/api/render_placed_test.c', 'tests/api/table_room_test.c', 'tests/server/')
NAMED = ('src/', 'embed/', 'server/', 'cli/')
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
LICENSED = SOURCES + ('.build', '.yml', '.pc.in')
# Headers have Microsoft's shape, and ABI tables one row for each field.
LONG_ALLOWED = ('include/', 'tests/abi/')


def code_only(text):
    return COMMENT_OR_TEXT.sub(lambda match: re.sub(r'[^\n]', ' ', match.group(0)), text)


def each_match(root, path, pattern, seen=str):
    for number, line in enumerate(seen(tree.read(root, path)).splitlines(), 1):
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
        ('"room" is free memory, and nothing else',
         [f'{where}: "{word}" is not about memory of a segment: capacity, buffer or slot'
          for p in paths if p.startswith(NAMED + ('tests/',)) and not p.startswith(MEMORY) and p.endswith(CODE)
          for where, word in each_match(root, p, MEMORY_NAMES, code_only)]),
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
