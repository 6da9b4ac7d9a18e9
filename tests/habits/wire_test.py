#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wire_test.py - check_wire.py sees a pointer that no walk knows, wherever it stands."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_wire
import tap

if not shutil.which('clang'):
    sys.exit(tap.report([], skip='clang is needed'))

HEADER = '''
typedef void *HANDLE;
typedef struct _ELEMENT { unsigned handle; void *data; } ELEMENT;
typedef struct _ARGS {
    unsigned count;
    ELEMENT *elements;
    union { HANDLE event; unsigned long value; };
    struct { void (*callback)(int); } inside;
} ARGS;
'''
CALLS = 'CALL(open, D3DKMTOpen, ARGS, MUTABLE)\n/* CALL(gone, D3DKMTGone, GONE, CONST) */\n'
FIELDS = ['D3DKMTOpen - 8 8 list', 'D3DKMTOpen 8 8 8 list', 'D3DKMTOpen - 16 8 thing',
          'D3DKMTOpen - 24 8 plain']


def problems(root, without=None, header=HEADER):
    tap.write_tree(root, {'include/dxg/d3dkmthk.h': header, 'src/wire/calls.def': CALLS,
                          'src/wire/call.h': ''})
    lines = [line for i, line in enumerate(FIELDS) if i != without]
    return [p for _, found in check_wire.check(root, '\n'.join(lines)) for p in found]


def test_a_struct_whose_pointers_are_all_known_is_accepted(root):
    assert problems(root) == []


def test_a_pointer_that_no_walk_knows_is_reported(root):
    found = problems(root, without=0)
    assert len(found) == 1 and 'elements' in found[0], found


def test_a_pointer_of_an_element_is_reported(root):
    found = problems(root, without=1)
    assert len(found) == 1 and 'data' in found[0] and '_ELEMENT' in found[0], found


def test_a_handle_in_a_union_is_reported(root):
    found = problems(root, without=2)
    assert len(found) == 1 and 'event' in found[0], found


def test_a_function_in_a_struct_inside_is_reported(root):
    found = problems(root, without=3)
    assert len(found) == 1 and 'callback' in found[0], found


def test_pointers_in_an_array_of_structs_are_reported(root):
    found = problems(root, header=HEADER.replace('inside;', 'inside; ELEMENT more[2];'))
    assert len(found) == 1 and 'more' in found[0], found


def test_a_result_covers_all_of_its_bytes(root):
    FIELDS.append('D3DKMTOpen - 32 32 result')
    try:
        found = problems(root, header=HEADER.replace('inside;', 'inside; ELEMENT more[2];'))
    finally:
        FIELDS.pop()
    assert found == [], found


def test_a_struct_that_is_not_there_is_reported(root):
    found = problems(root, header=HEADER.replace('ARGS', 'OTHER') + 'typedef int ARGS;\n')
    assert len(found) == 1 and 'no struct ARGS' in found[0], found


tap.run_tests(globals())
