#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage_test.py - coverage.py adds up what gcov says, and holds the tree to it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import coverage
import tap

TEXTS = {('src/a/x.c', 1): 'if (a)', ('src/a/x.c', 2): 'unreachable();', ('src/b/y.h', 7): 'y();'}


def text_of(path, line):
    return TEXTS[(path, line)]


def counts_of(*rows):
    counts = coverage.Counts()
    for row in rows:
        counts.add(*row)
    return counts


def percent(found, folder):
    return tuple(round(value, 1) for value in found[folder].percent())


def test_lines_and_branches_are_summed_per_folder_and_in_all(_):
    counts = counts_of(('src/a/x.c', 1, 3, [3, 0]), ('src/a/x.c', 2, 0, []), ('src/b/y.h', 7, 1, [1, 1]))
    found, _ = coverage.sums(counts, coverage.Settings(''), text_of)
    assert percent(found, 'src/a') == (50.0, 50.0)
    assert percent(found, 'src/b') == (100.0, 100.0)
    assert percent(found, 'src/') == (66.7, 75.0)
    assert [row.split()[0] for row in coverage.table(found)[1:]] == ['src/a', 'src/b', 'src/']


def test_what_several_objects_contain_is_passed_when_one_passes_it(_):
    counts = counts_of(('src/b/y.h', 7, 0, [0, 0]), ('src/b/y.h', 7, 2, [2, 0]), ('src/b/y.h', 7, 1, [0, 1]))
    found, _ = coverage.sums(counts, coverage.Settings(''), text_of)
    assert percent(found, 'src/b') == (100.0, 100.0)


def test_reports_of_gcov_are_read_and_only_src_counts(_):
    counts = coverage.Counts()
    def file(name):
        return {'file': name, 'lines': [{'line_number': 1, 'count': 4, 'branches': [{'count': 4}, {'count': 0}]}]}
    counts.add_report({'current_working_directory': '/tree/build', 'files': [
        file('../src/a/x.c'), file('../tests/t.c'), file('/usr/include/stdio.h')]}, '/tree')
    assert counts.lines == {('src/a/x.c', 1): 4}
    assert counts.branches == {('src/a/x.c', 1): [4, 0]}


def test_sources_count_wherever_they_are_compiled_and_tests_nowhere(_):
    assert coverage.is_of_src('src/object/libobject.a.p/share.c.gcda')
    assert coverage.is_of_src('tests/unit/object/object_share_test.p/.._.._.._src_object_share.c.gcda')
    assert not coverage.is_of_src('tests/unit/object/object_share_test.p/share_test.c.gcda')


def test_an_exclusion_leaves_lines_out_and_has_a_reason(_):
    settings = coverage.Settings('exclude src/a/* /unreachable/ no test comes here\n')
    counts = counts_of(('src/a/x.c', 1, 1, []), ('src/a/x.c', 2, 0, []))
    found, left_out = coverage.sums(counts, settings, text_of)
    assert percent(found, 'src/a') == (100.0, 100.0) and left_out == [1]
    try:
        coverage.Settings('exclude src/a/* /unreachable/\n')
    except SystemExit:
        return
    raise AssertionError('an exclusion without a reason was taken')


def test_an_exclusion_of_what_is_gone_is_named(_):
    settings = coverage.Settings('exclude src/a/* /unreachable/ no test comes here\nexclude src/a/* /gone/ it was\n')
    _, left_out = coverage.sums(counts_of(('src/a/x.c', 2, 0, [])), settings, text_of)
    assert coverage.stale(settings, left_out) == ['exclude src/a/* /gone/ leaves nothing out']


def test_a_file_of_which_everything_is_passed_stays_so(_):
    settings = coverage.Settings('every src/a/*.c\n')
    assert coverage.not_whole(counts_of(('src/a/x.c', 1, 3, [3, 1]), ('src/b/y.h', 7, 0, [])), settings, text_of) == []
    rows = coverage.not_whole(counts_of(('src/a/x.c', 1, 3, [3, 0]), ('src/a/x.c', 2, 0, [])), settings, text_of)
    assert [row.split(': ')[0] for row in rows] == ['src/a/x.c:1', 'src/a/x.c:2']
    assert 'no such file' in coverage.not_whole(counts_of(('src/b/y.h', 7, 1, [])), settings, text_of)[0]


def test_a_folder_below_what_it_had_reached_is_named(_):
    counts = counts_of(('src/a/x.c', 1, 3, [3, 0]))
    reached = 'reached src/a 100 {}\nreached src/ 100 50\n'
    found, _ = coverage.sums(counts, coverage.Settings(''), text_of)
    assert coverage.fallen(found, coverage.Settings(reached.format(50))) == []
    problems = coverage.fallen(found, coverage.Settings(reached.format(50.1)))
    assert len(problems) == 1 and 'src/a: branches' in problems[0], problems


def test_a_folder_is_listed_or_named(_):
    found, _ = coverage.sums(counts_of(('src/a/x.c', 1, 3, [3, 0])), coverage.Settings(''), text_of)
    problems = coverage.fallen(found, coverage.Settings('reached src/gone 1 1\nreached src/ 1 1\n'))
    assert len(problems) == 2 and 'src/gone' in problems[0] and 'src/a' in problems[1], problems


def test_the_distance_to_the_goal_is_told(_):
    found, _ = coverage.sums(counts_of(('src/a/x.c', 1, 3, [3, 0])), coverage.Settings(''), text_of)
    line = coverage.distance(found, coverage.Settings('goal 98 88\n'))
    assert line == 'goal: lines 98 % is met, branches 88 % is 38.0 away', line


def test_what_was_missed_is_told_by_line(_):
    counts = counts_of(('src/a/x.c', 1, 3, [3, 0]), ('src/a/x.c', 2, 0, []), ('src/b/y.h', 7, 1, []))
    rows = coverage.missed(counts, coverage.Settings(''), text_of, 'src/a')
    assert [row.split()[0] for row in rows] == ['src/a/x.c:1:', 'src/a/x.c:2:'], rows


def test_the_settings_of_the_tree_can_be_read(_):
    with open(coverage.SETTINGS, encoding='utf-8') as file:
        settings = coverage.Settings(file.read())
    assert settings.goal == (98.0, 88.0) and 'src/' in settings.reached


tap.run_tests(globals())
