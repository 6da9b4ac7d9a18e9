#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""format_test.py - check_format.py sees a badly laid out file, and only there where it looks."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_format
import tap
import tree

BAD = 'int a;\nint f( void ) {\n    return a; }\n'

if not shutil.which('clang-format'):
    sys.exit(tap.report([], skip='clang-format is not installed'))


def problems(root, files):
    tap.write_tree(root, {'.clang-format': tree.read(tree.ROOT, '.clang-format'), **files})
    return [p for _, found in check_format.check(root) for p in found]


def test_good_layout_is_accepted(root):
    assert problems(root, {'src/a.c': 'int f(void)\n{\n\treturn 1;\n}\n'}) == []


def test_bad_layout_is_reported_once_per_file_where_it_starts(root):
    found = problems(root, {'src/a.c': BAD, 'tests/b.cpp': BAD})
    assert len(found) == 2, found
    assert found[0].startswith('src/a.c:2: ') and found[1].startswith('tests/b.cpp:2: '), found


def test_public_headers_are_left_alone(root):
    assert problems(root, {'include/dxg/a.h': BAD}) == []


def test_fixing_leaves_nothing_to_report(root):
    assert problems(root, {'src/a.c': BAD})
    assert check_format.main(['--fix', root]) == 0
    assert problems(root, {}) == []


tap.run_tests(globals())
