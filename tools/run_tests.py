#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_tests.py - builds the variants, runs their suites, counts every single test.

usage: run_tests.py [--suite name] [--test pattern ...] [variant ...]

   plain   gcc, everything, and the checks of the tree itself (suite `habits`)
   asan    clang, address and undefined-behaviour sanitizers, everything but `habits` and `once`
   tsan    clang, thread sanitizer, suite `threads`
   clang   clang, assertions off: compiles without a warning, nothing is linked or run; tests that asan
           has compiled in the same run are left out where they have no assertion
   coverage   gcc, assertions off, counters, everything but `habits`: what tools/coverage.py runs, and
           nobody who names no variant

Suite `soak` runs only when asked for by name. With --test only programs whose names, or suites and names (habits/*), match a pattern
are built and run (those of `soak` when named in full), in plain unless a variant is named. Each
program has its line as soon as it ends. The last line is `N passed, N failed` over all variants (and
`, N skipped` if any were). A program that crashes, stops before its plan is fulfilled, prints no plan
or leaks counts as a failure, whatever its single tests said.
"""

import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import build
import variants

PLAN = re.compile(r'1\.\.(\d+)\s*(?:#\s*(skip\S*)?\s*(.*))?$', re.IGNORECASE)
RESULT = re.compile(r'(not )?ok\b(?:\s+(\d+))?(?:\s*-?\s*(.*?))?\s*'
                    r'(?:(?<!\\)#\s*(skip|todo)\S*\s*(.*))?$', re.IGNORECASE)

# Many tests wait for threads and processes of theirs, so a processor has room for two.
PROCESSES = 2 * (os.cpu_count() or 1)

# `once`: what is not about how we are compiled, headers in every dialect for example.
RUNS = {
    'plain': {'only': None, 'without': {'soak'}, 'env': {}, 'patience': 3},
    'asan': {'only': None, 'without': {'soak', 'habits', 'once'}, 'patience': 4, 'env': {
        'ASAN_OPTIONS': 'halt_on_error=1:detect_leaks=1:detect_stack_use_after_return=1',
        'UBSAN_OPTIONS': 'halt_on_error=1:print_stacktrace=1'}},
    'tsan': {'only': 'threads', 'without': {'soak', 'habits', 'once'}, 'patience': 8, 'env': {
        'TSAN_OPTIONS': 'halt_on_error=1:second_deadlock_stack=1'}},
    'clang': None,
    'coverage': {'only': None, 'without': {'soak', 'habits'}, 'env': {}, 'patience': 4},
}
DEFAULT = [name for name in RUNS if name != 'coverage']


class Count:
    def __init__(self, passed=0, failed=0, skipped=0, reasons=()):
        self.passed = passed
        self.failed = failed
        self.skipped = skipped
        self.reasons = list(reasons)
        self.not_here = {}              # why tests were skipped -> how many

    def fail(self, reason):
        self.failed += 1
        self.reasons.append(reason)

    def skip(self, reason):
        self.skipped += 1
        reason = reason or 'no reason was given'
        self.not_here[reason] = self.not_here.get(reason, 0) + 1

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.reasons += other.reasons

    def line(self):
        skipped = f', {self.skipped} skipped' if self.skipped else ''
        return f'{self.passed} passed, {self.failed} failed{skipped}'


def count_tap(output, returncode, result='OK'):
    """What one test program said and how it ended -> Count."""
    count = Count()
    planned = seen = 0
    has_plan = False
    for line in output.splitlines():
        line = line.rstrip()
        plan = PLAN.match(line)
        if plan and not has_plan:
            has_plan = True
            planned = int(plan.group(1))
            if planned == 0 and plan.group(2):
                count.skip(plan.group(3))
            elif planned == 0:
                count.fail('plans no test')
            continue
        if line.startswith('Bail out!'):
            count.fail(line)
            continue
        match = RESULT.match(line)
        if not match:
            continue
        seen += 1
        directive = (match.group(4) or '').lower()
        if directive == 'skip' and match.group(1):
            count.fail(f'{match.group(3)}: skipped, and not ok')
        elif directive == 'skip':
            count.skip(match.group(5))
        elif match.group(1):
            count.fail(match.group(3) or f'test {seen}')
        else:
            count.passed += 1
    if not has_plan:
        count.fail('printed no TAP plan')
    elif seen < planned:
        count.fail(f'stopped after {seen} of {planned} tests')
    elif seen > planned:
        count.fail(f'ran {seen} tests, planned {planned}')
    if result == 'TIMEOUT':
        count.fail('took too long and was ended')
    elif returncode < 0 and count.failed:
        count.reasons[-1] += f', ended by signal {-returncode}'
    elif returncode < 0:
        count.fail(f'ended by signal {-returncode}')
    elif returncode != 0 and count.failed == 0:
        count.fail(f'all tests passed, then exit status {returncode}')
    elif result not in ('OK', 'SKIP', 'FAIL', 'ERROR') and count.failed == 0:
        count.fail(f'Meson says {result}')
    return count


def fixed_addresses():
    """Sanitizer runtimes of this age lose a fight with highly random address layouts."""
    command = ['setarch', '-R']
    try:
        works = subprocess.run([*command, 'true'], capture_output=True, check=False)
        return command if works.returncode == 0 else []
    except FileNotFoundError:
        return []


def introspect(path, what):
    return json.loads(subprocess.run(['meson', 'introspect', path, what], check=True,
                                     capture_output=True, text=True).stdout)


def suites_of(test):
    return {name.split(':')[-1] for name in test['suite']}


def is_called(test, pattern):
    """By its name, or by suite and name as its line has them: habits/locks."""
    names = [test['name'], *(f"{suite}/{test['name']}" for suite in suites_of(test))]
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def without_a_test(tests, patterns):
    """Those of the patterns that no test has."""
    return [pattern for pattern in patterns if not any(is_called(test, pattern) for test in tests)]


def is_chosen(test, plan, suite, patterns):
    """Is this test, as Meson describes it, to run by this plan?"""
    suites = suites_of(test)
    if patterns:
        return test['name'] in patterns or 'soak' not in suites and any(is_called(test, pattern) for pattern in patterns)
    only = suite or plan['only']
    return (only is None or only in suites) and not suites & (plan['without'] - {suite})


def targets_of(path, tests):
    """What these tests need, as ninja names it."""
    needed = {target for test in tests for target in test['depends']}
    return sorted(os.path.relpath(file, path) for target in introspect(path, '--targets')
                  if target['id'] in needed for file in target['filename'])


def objects(path):
    """Everything that is compiled, as ninja names it."""
    listed = subprocess.run(['ninja', '-C', path, '-t', 'targets', 'all'], check=True,
                            capture_output=True, text=True).stdout
    return [line.split(': ')[0] for line in listed.splitlines()
            if re.search(r': (c|cpp)_COMPILER', line)]


def has_assertions(source):
    """May this file be another program without assertions? One that the build has yet to write may."""
    try:
        with open(source, encoding='utf-8') as file:
            return re.search(r'\bassert\b|\bNDEBUG\b', file.read()) is not None
    except FileNotFoundError:
        return True


def sources_with_assertions(path):
    """Those that are another program without assertions, as Meson names their objects."""
    with open(os.path.join(path, 'compile_commands.json'), encoding='utf-8') as file:
        return {entry['output'] for entry in json.load(file)
                if has_assertions(os.path.join(entry['directory'], entry['file']))}


def build_variant(name, path, tests, is_part, compiled_by_clang):
    """True when all that is needed is there, and nothing was complained about. What nobody runs is
    built by one compiler of each kind; the sanitizers' need not. `compiled_by_clang` is the directory of
    a variant that was built just now, of which tests need not be compiled once more; None: there is none."""
    wanted = []
    if RUNS[name] is None:
        asserting = sources_with_assertions(path) if compiled_by_clang else set()
        wanted = [one for one in objects(path)
                  if not compiled_by_clang or not one.startswith('tests/') or one in asserting
                  or not os.path.exists(os.path.join(compiled_by_clang, one))]
    elif is_part or RUNS[name]['env']:
        wanted = targets_of(path, tests)
    return build.ninja(path, wanted, ['-k', '10'])


def records(log, is_over):
    """What Meson writes down about each program, as it does; `log` need not exist yet."""
    rest, position = '', 0
    while True:
        was_over = is_over()
        if os.path.exists(log):
            with open(log, encoding='utf-8') as file:
                file.seek(position)
                *lines, rest = (rest + file.read()).split('\n')
                position = file.tell()
            yield from (json.loads(line) for line in lines)
        if was_over:
            return
        time.sleep(0.2)


def run_programs(name, path, tests, count):
    """Runs what is built, a line for each program. -> how many there were"""
    plan = RUNS[name]
    log = os.path.join(path, 'meson-logs', 'run_tests.json')
    if os.path.exists(log):
        os.remove(log)
    command = ['meson', 'test', '-C', path, '--no-rebuild', '--logbase', 'run_tests',
               '--num-processes', str(PROCESSES),
               '--timeout-multiplier', str(plan['patience']), *[test['name'] for test in tests]]
    if plan['env']:
        command = fixed_addresses() + command
    programs = 0
    with tempfile.TemporaryFile('w+') as said:
        with subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT,
                              env={**os.environ, **plan['env']}) as process:
            for record in records(log, lambda: process.poll() is not None):
                programs += 1
                show(name, record, count)
        if programs == 0 and process.returncode != 0:
            said.seek(0)
            print(said.read())
            count.fail(f'{name}: meson test did not start')
    return programs


def run_variant(name, suite, patterns, compiled_by_clang=None):
    """Builds and runs one variant, prints its table. -> Count"""
    count = Count()
    started = time.monotonic()
    path = variants.directory(name)

    print(f'\n== {name}: building in {os.path.basename(path)}', flush=True)
    # Which tests there are may have changed since.
    built = variants.configure(name, {'tests': 'true'}) and build.ninja(path, ['build.ninja'])
    plan = RUNS[name]
    known = introspect(path, '--tests') if built and plan else []
    tests = [test for test in known if is_chosen(test, plan, suite, patterns)]
    # Other variants have fewer.
    for pattern in without_a_test(known, patterns or []) if name == 'plain' and tests else []:
        print(f'not ok   {name}: there is no test {pattern}')
        count.fail(f'{name}: there is no test {pattern}')
    if built and plan and not tests:
        print(f'not ok   {name}: there is no such test')
        count.fail(f'{name}: there is no such test')
        return count
    built = built and build_variant(name, path, tests, bool(suite or patterns),
                                    compiled_by_clang)
    build_seconds = time.monotonic() - started
    if not built:
        print(f'not ok   {name} does not build')
        count.fail(f'{name}: does not build')
        return count
    if plan is None:
        print(f'ok       {name} compiles without warnings   {build_seconds:.0f} s')
        return count

    programs = run_programs(name, path, tests, count)
    total = time.monotonic() - started
    print(f'   {name}: {count.line()}, {programs} programs, '
          f'build {build_seconds:.0f} s, run {total - build_seconds:.0f} s', flush=True)
    return count


def show(variant, record, count):
    """One line for one test program, and all it printed when something failed."""
    title = record['name'].split(':', 1)[-1]
    output = record.get('stdout', '')
    result = count_tap(output, record['returncode'], record['result'])
    verdict = 'not ok' if result.failed else 'ok'
    print(f'{verdict:8} {title:44} {result.line():32} {record["duration"]:6.2f} s',
          flush=True)
    for reason, tests in result.not_here.items():
        print(f'    skipped {tests}: {reason}')
    if result.failed:
        for reason in result.reasons:
            print(f'    failed: {reason}')
        # A crash or a leak first: a log may be cut, and the tests that passed say least.
        for line in (record.get('stderr', '') + output).splitlines():
            print(f'    | {line}')
    result.reasons = [f'{variant}: {title}: {reason}' for reason in result.reasons]
    count.add(result)


def main():
    parser = argparse.ArgumentParser(description='builds and runs the test suites')
    parser.add_argument('--suite', help='run this suite only')
    parser.add_argument('--test', action='append', default=[], metavar='pattern',
                        help='run only programs whose name matches')
    parser.add_argument('variant', nargs='*', help=f'default: {" ".join(DEFAULT)}')
    options = parser.parse_args()
    unknown = [name for name in options.variant if name not in RUNS]
    if unknown:
        parser.error(f'no variant {unknown[0]}; there are: {" ".join(RUNS)}')

    total = Count()
    compiled_by_clang = None
    for name in options.variant or (['plain'] if options.test else DEFAULT):
        total.add(run_variant(name, options.suite, options.test, compiled_by_clang))
        if name == 'asan' and not total.failed:
            compiled_by_clang = variants.directory(name)
    print()
    for reason in total.reasons:
        print(f'FAILED {reason}')
    print(total.line(), flush=True)
    return 1 if total.failed else 0


if __name__ == '__main__':
    sys.exit(main())
