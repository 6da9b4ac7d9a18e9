#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""counts_test.py - run_tests.py counts what test programs say, and mistrusts how they end."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import run_tests
import tap


def counts(output, returncode=0, result='OK'):
    count = run_tests.count_tap(output, returncode, result)
    assert len(count.reasons) == count.failed, count.reasons
    return count.passed, count.failed, count.skipped


def test_passes_and_failures_are_counted_one_by_one(_):
    assert counts('1..3\nok 1 - a\nnot ok 2 - b\n# why\nok 3 - c\n', 1, 'FAIL') == (2, 1, 0)


def test_the_plan_may_come_last(_):
    assert counts('TAP version 13\nok 1 - a\nok 2 - b\n1..2\n') == (2, 0, 0)


def test_a_skipped_test_is_neither(_):
    assert counts('1..2\nok 1 - a # SKIP no GPU here\nok 2\n') == (1, 0, 1)


def test_programs_are_chosen_by_name_and_by_suite(_):
    def is_chosen(name, *suites, patterns):
        return run_tests.is_chosen({'name': name, 'suite': [f'opendxgk:{suite}' for suite in suites]}, run_tests.RUNS['plain'], None,
                                   patterns)

    assert is_chosen('api/offer', 'api', patterns=['api/off*']) and not is_chosen('api/lock', 'api', patterns=['api/off*'])
    # As the line of a program is printed.
    assert is_chosen('locks', 'habits', patterns=['habits/*']) and not is_chosen('nt/locks', 'nt', patterns=['habits/*'])
    assert not is_chosen('tidy_deep', 'habits', 'soak', patterns=['habits/*'])
    assert is_chosen('tidy_deep', 'habits', 'soak', patterns=['tidy_deep'])


def test_a_pattern_that_no_program_has_is_said(_):
    tests = [{'name': 'api/offer', 'suite': ['opendxgk:api']}, {'name': 'locks', 'suite': ['opendxgk:habits']}]
    assert run_tests.without_a_test(tests, ['api/*', 'habits/*', 'offer', 'locks']) == ['offer']


def test_why_tests_were_skipped_is_kept(_):
    count = run_tests.count_tap('1..3\nok 1 - a # SKIP no GPU\nok 2 - b # SKIP no GPU\nok 3 - c # SKIP\n', 0)
    assert count.not_here == {'no GPU': 2, 'no reason was given': 1}, count.not_here
    assert run_tests.count_tap('1..0 # SKIP no clang-tidy\n', 0).not_here == {'no clang-tidy': 1}


def test_what_is_skipped_and_not_ok_has_failed(_):
    assert counts('1..1\nnot ok 1 - a # SKIP\n', 0) == (0, 1, 0)


def test_a_program_may_skip_itself(_):
    assert counts('1..0 # SKIP no clang-tidy\n', 0, 'SKIP') == (0, 0, 1)


def test_a_name_with_a_number_sign_is_no_directive(_):
    assert counts('1..1\nnot ok 1 - item #3 is skipped\n', 1) == (0, 1, 0)


def test_chatter_between_results_is_not_counted(_):
    assert counts('1..1\nokay, starting\nnot okay\n    ok 1 - nested\nok 1 - a\n') == (1, 0, 0)


def test_no_plan_is_a_failure(_):
    assert counts('hello\n') == (0, 1, 0)


def test_silence_is_a_failure(_):
    assert counts('') == (0, 1, 0)


def test_a_plan_for_nothing_is_a_failure(_):
    assert counts('1..0\n') == (0, 1, 0)


def test_a_crash_is_a_failure(_):
    assert counts('1..2\nok 1 - a\n', -11, 'ERROR') == (1, 1, 0)
    reasons = run_tests.count_tap('1..2\nok 1 - a\n', -11, 'ERROR').reasons
    assert reasons == ['stopped after 1 of 2 tests, ended by signal 11'], reasons


def test_a_crash_after_the_last_test_is_a_failure(_):
    assert counts('1..1\nok 1 - a\n', -6, 'ERROR') == (1, 1, 0)


def test_a_leak_found_at_exit_is_a_failure(_):
    assert counts('1..1\nok 1 - a\n', 23, 'ERROR') == (1, 1, 0)


def test_too_many_results_are_a_failure(_):
    assert counts('1..1\nok 1 - a\nok 2 - b\n') == (2, 1, 0)


def test_bailing_out_is_a_failure(_):
    assert counts('1..1\nok 1 - a\nBail out! no memory\n')[1] == 1


def test_a_timeout_is_a_failure(_):
    assert counts('1..1\nok 1 - a\n', -15, 'TIMEOUT')[1] == 1


def test_the_closing_line_reads_the_same_every_time(_):
    assert run_tests.Count(12, 0).line() == '12 passed, 0 failed'
    assert run_tests.Count(1, 2, 3).line() == '1 passed, 2 failed, 3 skipped'


def chosen(variant, name, suites, suite=None, patterns=()):
    test = {'name': name, 'suite': [f'opendxgk:{word}' for word in suites]}
    return run_tests.is_chosen(test, run_tests.RUNS[variant], suite, patterns)


def test_a_variant_runs_its_suites(_):
    for name, suites, variants in (('a', ['api'], 'plain asan'), ('b', ['api', 'threads'], 'plain asan tsan'),
                                   ('c', ['habits'], 'plain'), ('d', ['abi', 'once'], 'plain'),
                                   ('e', ['api', 'threads', 'soak'], '')):
        assert chosen('coverage', name, suites) == (chosen('plain', name, suites) and 'habits' not in suites)
        runs = [variant for variant in ('plain', 'asan', 'tsan') if chosen(variant, name, suites)]
        assert runs == variants.split(), (name, runs)


def test_coverage_runs_when_it_is_named(_):
    assert 'coverage' in run_tests.RUNS and 'coverage' not in run_tests.DEFAULT


def test_a_suite_that_is_asked_for_runs_alone(_):
    assert chosen('plain', 'a', ['api', 'soak'], 'soak') and not chosen('plain', 'a', ['api'], 'soak')
    assert chosen('plain', 'a', ['habits', 'soak'], 'soak')
    assert not chosen('asan', 'a', ['habits', 'soak'], 'soak')


def test_patterns_choose_by_name_and_the_long_ones_in_full_only(_):
    assert chosen('tsan', 'api/offer_seed_1', ['api'], None, ['api/offer*'])
    assert not chosen('tsan', 'api/lock', ['api'], None, ['api/offer*'])
    assert not chosen('plain', 'park/long', ['soak'], None, ['park/*'])
    assert chosen('plain', 'park/long', ['soak'], None, ['park/long'])


def test_what_is_not_written_yet_may_have_assertions(root):
    sources = {'plain.c': 'int x;\n', 'asserts.c': 'assert(x);\n', 'asks.c': '#ifdef NDEBUG\n#endif\n'}
    for name, text in sources.items():
        with open(os.path.join(root, name), 'w', encoding='utf-8') as file:
            file.write(text)
    entries = [{'directory': root, 'file': name, 'output': name + '.o'} for name in [*sources, 'generated.c']]
    with open(os.path.join(root, 'compile_commands.json'), 'w', encoding='utf-8') as file:
        json.dump(entries, file)
    assert run_tests.sources_with_assertions(root) == {'asserts.c.o', 'asks.c.o', 'generated.c.o'}


def test_records_are_read_while_they_are_written(root):
    log, over = f'{root}/log', [False, False, False, True]
    pieces = ['{"name": "a"}\n{"na', 'me": "b"}\n', '{"name": "c"}\n']

    def is_over():
        if pieces and len(over) < 4:
            with open(log, 'a', encoding='utf-8') as file:
                file.write(pieces.pop(0))
        return over.pop(0)

    assert [record['name'] for record in run_tests.records(log, is_over)] == ['a', 'b', 'c']


tap.run_tests(globals())
