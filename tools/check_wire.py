#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_wire.py - no pointer of a client goes over the wire unknown.

usage: check_wire.py travel_fields

Lists every member of the argument structs of calls.def that is a pointer or a handle of the system
(clang says how structs are laid out, unions and structs inside included), and those of the structs
that they lead to. Each has to be known to the walks of src/wire/, which `travel_fields` (a program of
tests/unit/wire) prints: as a list, a thing, a slot, a result, or a plain value that nobody follows.
"""

import os
import re
import subprocess
import sys
import tempfile

import tap
import tree

SOURCE = '''
#include <stddef.h>
#include <stdint.h>
#include <dxg/d3dkmthk.h>
#include "wire/call.h"
#define CALL(id, name, type, constness, ...) extern type call_##name; type call_##name;
#define CALL_NOT_BUILT(name, type, constness)
#include "wire/calls.def"
'''
# `        16 |   union _LARGE_INTEGER * pTimeout`, `   0:0-2 |     unsigned int Lazy`
MEMBER = re.compile(r'\s*(\d+)(?::\d+-\d+)? \|( +)(.+?)\s*$')
CALL = re.compile(r'\bCALL(?:_OWN_THUNK)?\(\s*\w+\s*,\s*(\w+)\s*,\s*(\w+)\s*,')
RECORD = re.compile(r'^(?:const )?(?:struct|union) ([\w:]+)')


def calls_of(text):
    """{name of the call: name of its struct}"""
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.DOTALL)
    return dict(CALL.findall(text))


def layouts(root, source):
    """{record: [(offset, type and name, depth)]}, of every record that `source` completes."""
    with tempfile.TemporaryDirectory(prefix='wire-') as folder:
        path = os.path.join(folder, 'calls.c')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(source)
        text = subprocess.run(
            ['clang', '-std=gnu17', '-fsyntax-only', f'-I{root}/src', f'-I{root}/include',
             '-Xclang', '-fdump-record-layouts-canonical', '-Xclang',
             '-fdump-record-layouts-complete', path],
            check=True, capture_output=True, text=True).stdout
    records = {}
    for block in text.split('*** Dumping AST Record Layout')[1:]:
        members = [MEMBER.match(line) for line in block.splitlines()]
        members = [(int(m.group(1)), m.group(3), len(m.group(2))) for m in members if m]
        name = RECORD.match(members[0][1]) if members else None
        if name:
            records[name.group(1)] = members[1:]
    return records


def pointers(records, name):
    """[(offset, what)] of one record; clang has put records inside it in their places."""
    found = []
    for offset, what, _ in records[name]:
        array = re.match(r'(?:struct|union) ([\w:]+)\[', what)
        has_pointers = array and array.group(1) in records and pointers(records, array.group(1))
        if '*' in what or has_pointers:
            found.append((offset, what))
    return found


def pointee(records, what):
    """The record a pointer leads to; None: it is no record, or nobody knows."""
    name = RECORD.match(what)
    if name and what.count('*') == 1 and '(' not in what and name.group(1) in records:
        return name.group(1)
    return None


def known_fields(text):
    """{(call, parent): [(offset, size, how)]} from the lines of travel_fields."""
    known = {}
    for line in text.splitlines():
        call, parent, offset, size, how = line.split()
        known.setdefault((call, parent), []).append((int(offset), int(size), how))
    return known


def unknown(records, known, call, record, parent='-'):
    """Sentences about pointers of `record` that no walk names."""
    problems = []
    for offset, what in pointers(records, record):
        ways = [how for at, size, how in known.get((call, parent), [])
                if at <= offset < at + size]
        if not ways:
            problems.append(f'{call}: `{what}` at {offset} of {record} is in no walk')
        inner = pointee(records, what)
        if 'list' in ways and inner:
            below = str(offset) if parent == '-' else f'{parent}/{offset}'
            problems += unknown(records, known, call, inner, below)
    return problems


def check(root, fields):
    calls = calls_of(tree.read(root, 'src/wire/calls.def'))
    records = layouts(root, SOURCE)
    known = known_fields(fields)
    problems = []
    for call, name in sorted(calls.items()):
        record = f'_{name}' if f'_{name}' in records else name
        if record not in records:
            problems.append(f'{call}: clang knows no struct {name}')
            continue
        problems += unknown(records, known, call, record)
    return [('every pointer in the arguments of a call is known to a walk', problems)]


def main(arguments):
    if len(arguments) != 1:
        raise SystemExit('usage: check_wire.py travel_fields')
    fields = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
    return tap.report(check(tree.ROOT, fields))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
