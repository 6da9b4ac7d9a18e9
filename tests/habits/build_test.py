#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""build_test.py - build.py shows that a build goes on, and what went wrong in it."""

import io
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import build
import tap


class Terminal(io.StringIO):
    def isatty(self):
        return True


def steps(count, seconds_each=1.0, stream=None, between=()):
    """What is shown of `count` steps, and what is kept back."""
    now = [0.0]

    def lines():
        for number in range(1, count + 1):
            now[0] += seconds_each
            yield f'[{number}/{count}] Compiling C object a.p/file_{number}.c.o\n'
            yield from between

    stream = stream or io.StringIO()
    kept = build.follow(lines(), build.Progress('build', stream, lambda: now[0]))
    return stream.getvalue(), kept


def test_a_log_has_a_line_every_ten_seconds(_):
    shown, _ = steps(35)
    assert shown == ('build: 10 of 35 steps, 10 s\nbuild: 20 of 35 steps, 20 s\n'
                     'build: 30 of 35 steps, 30 s\n'), shown


def test_a_short_build_leaves_nothing_in_a_log(_):
    assert steps(9) == ('', [])


def test_a_terminal_has_one_line_that_counts_and_goes(_):
    shown, _ = steps(3, stream=Terminal())
    assert '\n' not in shown and shown.endswith('\r\x1b[K'), repr(shown)
    assert '[1/3]' in shown and '[3/3]' in shown, repr(shown)
    for line in shown.split('\r'):
        assert len(line) <= build.COLUMNS + len('\x1b[K'), repr(line)


def test_what_a_compiler_says_has_a_line_of_its_own(_):
    for stream in (io.StringIO(), Terminal()):
        shown, _ = steps(2, stream=stream, between=['a.c:1: warning: odd\n'])
        lines = shown.replace('\r', '\n').splitlines()
        assert sum(line.replace('\x1b[K', '') == 'a.c:1: warning: odd' for line in lines) == 2, shown


def test_meson_reading_its_files_again_is_kept_back(_):
    stream = io.StringIO()
    kept = build.follow(['ninja: Entering directory `x\'\n', '[0/1] Regenerating build files.\n',
                         'The Meson build system\n', 'meson.build:1:0: ERROR: no\n',
                         ],
                        build.Progress('build', stream, lambda: 0.0))
    assert stream.getvalue() == '', stream.getvalue()
    assert kept == ['The Meson build system', 'meson.build:1:0: ERROR: no'], kept


def test_what_meson_said_is_forgotten_when_it_worked(_):
    stream = io.StringIO()
    kept = build.follow(['[0/1] Regenerating build files.\n', 'The Meson build system\n',
                         '[1/2] cc\n', 'a.c: note\n', 'ninja: no work to do.\n'],
                        build.Progress('build', stream, lambda: 0.0))
    assert stream.getvalue() == 'a.c: note\n' and kept == [], (stream.getvalue(), kept)


def broken_directory(root):
    tap.write_tree(root, {'build.ninja': 'rule cc\n  command = echo no good; false\n'
                          'rule fine\n  command = touch $out\n'
                          'build bad: cc\nbuild good: fine\n'})


def test_a_failing_step_fails_and_is_shown(root):
    broken_directory(root)
    stdout, sys.stdout = sys.stdout, io.StringIO()
    try:
        worked = build.ninja(root, ['bad'])
        said = sys.stdout.getvalue()
    finally:
        sys.stdout = stdout
    assert not worked and 'no good' in said and 'FAILED: bad' in said, said


def test_only_the_wanted_targets_are_built(root):
    broken_directory(root)
    assert build.ninja(root, ['good']) and os.path.exists(f'{root}/good')


tap.run_tests(globals())
