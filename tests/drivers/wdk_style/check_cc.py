#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""opendxgk-cc compiles, links and loads a tree that was written for the WDK.

usage: check_cc.py <opendxgk-cc> <opendxgk-c++> <dxgk> <work folder>
"""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CC, CXX, DXGK, WORK = (pathlib.Path(name).resolve() for name in sys.argv[1:5])


class Wrong(Exception):
    """What a claim found instead."""


def run(*command, status=0):
    """What a command says, when it ends as it should."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=WORK)
    if done.returncode != status:
        raise Wrong(f'{command[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout + done.stderr


def build(name, *options):
    """As make would: one object per source, then the driver."""
    warnings = ['-Wall', '-Wextra', '-Werror']
    run(CXX, '-c', HERE / 'entry.CPP', '-o', f'{name}_entry.o', f'-I{HERE}/inc', '-MD', *warnings,
        *options)
    for source in ('device', 'trace'):
        run(CC, '-c', HERE / f'{source}.c', '-o', f'{name}_{source}.o', f'-I{HERE}/inc', '-MD',
            *warnings, *options)
    run(CXX, '-shared', *(f'{name}_{source}.o' for source in ('entry', 'device', 'trace')), '-o',
        f'{name}.so')
    return WORK / f'{name}.so'


def load(driver):
    """What the host and the driver say when it is loaded; DriverEntry refuses in the end."""
    profile = WORK / 'profile.json'
    profile.write_text('{ "adapters": [ { "driver": "%s" } ] }\n' % driver)
    done = subprocess.run([DXGK, 'info'], capture_output=True, text=True, timeout=60,
                          env={**os.environ, 'DXGK_PROFILE': str(profile), 'DXGK_LOG': 'all'})
    return done.stdout + done.stderr


def expect(text, *parts):
    for part in parts:
        if part not in text:
            raise Wrong(f'no "{part}" in\n{text}')


def a_tree_of_the_wdk_compiles_links_and_loads():
    said = load(build('checked'))
    expect(said, 'narrow checked 4096', 'wide 42', 'narrow from C', 'wide from C, 2', 'parentheses 7 inside', 'none',
           '0 things went wrong', 'STATUS_DEVICE_HARDWARE_ERROR')
    if 'WDK_ASSERT(Evaluated() > 0)' in said:
        raise Wrong('an assertion that holds was reported')
    expect(said, 'WDK_ASSERT(Evaluated() < 0)')


def dbg_is_off_when_the_command_says_so():
    expect(load(build('free', '-DDBG=0', '-O2')), 'narrow free 4096', '0 things went wrong')


def one_command_compiles_both_languages_and_links():
    run(CXX, '-shared', f'-I{HERE}/Inc', HERE / 'ENTRY.cpp', HERE / 'Device.c', HERE / 'Trace.c',
        '-o', 'one.so')
    expect(load(WORK / 'one.so'), 'wide from C, 2', '0 things went wrong')


def dependencies_name_files_that_exist():
    build('depends')
    for name in ('depends_entry.d', 'depends_device.d'):
        words = (WORK / name).read_text().replace('\\\n', ' ').split()[1:]
        missing = [word for word in words if not (WORK / word).exists()]
        if missing:
            raise Wrong(f'{name} names {missing}')
    expect((WORK / 'depends_entry.d').read_text(), 'Inc/Device.h', 'Entry.tmh')


def debug_information_names_the_sources():
    lines = run('readelf', '--debug-dump=line', build('debug'))
    expect(lines, 'Entry.cpp', 'Device.c')
    if '/opendxgk-cc.' in lines:
        raise Wrong('debug information names a temporary file')


def an_error_is_reported_where_it_is():
    (WORK / 'broken.c').write_text('#include <NTDDK.H>\nlong  a;\nlong b = undeclared;\n')
    expect(run(CC, '-c', 'broken.c', '-o', 'broken.o', status=1), 'broken.c:3:10: error')


def what_the_host_does_not_have_is_named_when_linking():
    expect(run(CXX, '-shared', HERE / 'undefined.cpp', '-o', 'undefined.so', status=1),
           'Engine::Missing(unsigned int)')


def it_stands_where_clang_stands():
    expect(run(CC, '--version'), 'clang version')
    (WORK / 'program.c').write_text('int main(void) { return 3; }\n')
    run(CC, 'program.c', '-o', 'program')
    run(WORK / 'program', status=3)
    # Preprocessed text, and arguments from a file.
    (WORK / 'arguments').write_text(f'-E "{HERE}/Device.c"')
    expect(run(CC, '@arguments'), 'DeviceCheck')


def a_trace_function_may_be_given_on_the_command_line():
    (WORK / 'traced.c').write_text(
        '#include <ntddk.h>\n#include "traced.tmh"\n'
        'void f(void) { MyTrace(2, ("%d", 1)); DoTraceMessage(ALL, "text"); }\n')
    run(CC, '-c', 'traced.c', '-o', 'traced.o', '-Werror', status=1)
    run(CC, '-c', 'traced.c', '-o', 'traced.o', '-Werror', '--wpp-func=MyTrace(LEVEL, (MSG, ...))')
    expect(run(CC, '-c', 'traced.c', '-o', 'traced.o', '--wpp-func=nonsense', status=1),
           'expected NAME')


CLAIMS = [a_tree_of_the_wdk_compiles_links_and_loads, dbg_is_off_when_the_command_says_so,
          one_command_compiles_both_languages_and_links,
          dependencies_name_files_that_exist, debug_information_names_the_sources,
          an_error_is_reported_where_it_is, what_the_host_does_not_have_is_named_when_linking,
          it_stands_where_clang_stands, a_trace_function_may_be_given_on_the_command_line]


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    failed = False
    print(f'1..{len(CLAIMS)}')
    for number, claim in enumerate(CLAIMS, 1):
        wrong = None
        try:
            claim()
        except (Wrong, OSError) as found:
            wrong = str(found)
            failed = True
            print('\n'.join('# ' + line for line in wrong.splitlines()[:30]))
        print(f"{'not ok' if wrong else 'ok'} {number} - {claim.__name__}", flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
