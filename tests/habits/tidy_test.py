#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tidy_test.py - check_tidy.py reports, and remembers only what was clean."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_tidy
import tap
import tree

if not all(shutil.which(tool) for tool in ('clang-tidy', 'gcc', 'ninja')):
    sys.exit(tap.report([], skip='clang-tidy, gcc and ninja are needed'))

CLEAN = '#include "a.h"\nint f(int a)\n{\n\treturn a + HERE;\n}\n'
HEADER = '#define HERE 1\n'
DIVIDES = '#define HERE (1 / (a - a))\n'


def check(root, header=HEADER, flags='', options=()):
    """Runs the check over a tree with src/base/a.c in it -> (exit status, text, marks kept)"""
    profile = tree.read(REAL_ROOT, '.clang-tidy')
    tap.write_tree(root, {
        'src/base/a.c': CLEAN, 'src/base/a.h': header, '.clang-tidy': profile,
        'tests/b.c': 'int f(int a) { return 1 / (a - a); }\n',
        'build/compile_commands.json': json.dumps([
            {'directory': f'{root}/build', 'file': f'../{path}', 'output': 'x.o',
             'command': f'gcc {flags} -Wno-such-gcc-thing -MD -MQ x.o -MF x.d -o x.o -c ../{path}'}
            for path in ('src/base/a.c', 'tests/b.c')])})
    tree.ROOT = root
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = check_tidy.main([*options, f'{root}/build'])
    return status, said.getvalue(), len(os.listdir(f'{root}/build/tidy-clean'))


REAL_ROOT = tree.ROOT


def test_a_clean_file_passes_and_is_remembered(root):
    assert check(root)[::2] == (0, 1)
    assert check(root)[::2] == (0, 1)


def test_what_passed_is_looked_at_again_in_depth(root):
    assert check(root)[::2] == (0, 1)
    assert check(root, options=['--deep'])[::2] == (0, 2)
    assert check(root, DIVIDES, options=['--deep'])[0] == 1


def test_only_the_projects_own_folders_are_looked_at(root):
    assert 'nothing in 1 files' in check(root)[1]


def test_a_finding_fails_with_its_place_and_is_not_remembered(root):
    status, said, marks = check(root, DIVIDES)
    assert status == 1 and marks == 0, said
    assert '# src/base/a.c:4:' in said and 'DivideZero' in said, said


def test_a_changed_header_is_looked_at_again(root):
    assert check(root)[0] == 0
    assert check(root, DIVIDES)[0] == 1


def test_changed_flags_are_looked_at_again(root):
    assert check(root)[::2] == (0, 1)
    assert check(root, flags='-DX')[::2] == (0, 2)


NINJA = '''rule cc
 depfile = x.d
 deps = gcc
 command = gcc -MD -MF x.d -c ../src/base/a.c -o x.o
build x.o: cc
'''


def test_what_was_built_is_known_without_the_compiler(root):
    assert check(root)[0] == 0
    tap.write_tree(root, {'build/build.ninja': NINJA})
    subprocess.run(['ninja', '-C', f'{root}/build'], check=True, capture_output=True)
    shutil.rmtree(f'{root}/build/tidy-clean')
    asked, check_tidy.ask_compiler = check_tidy.ask_compiler, None
    try:
        assert check(root)[::2] == (0, 1)
        assert check(root, '#define HERE 2\n')[::2] == (0, 2)
        assert check(root, DIVIDES)[0] == 1
    finally:
        check_tidy.ask_compiler = asked


def test_a_file_that_does_not_compile_fails(root):
    status, said, _ = check(root, '#define HERE undeclared\n')
    assert status == 1 and 'undeclared' in said, said


tap.run_tests(globals())
