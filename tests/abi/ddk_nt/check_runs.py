#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the driver headers promise at run time holds in every language and mode they support.

usage: check_runs.py <include folder> <name> [<library> ...]

Compiles <name>_c.c and <name>_cpp.cpp the ways drivers are compiled, plain and optimised, links each
with the given libraries, runs it and reports as TAP. A program is silent and returns 0, or says which
claim failed.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COMMON = ['-g', '-fshort-wchar', '-fno-strict-aliasing', '-fPIC', '-Wall', '-Wextra', '-Werror',
          '-ffunction-sections', '-Wl,--gc-sections']
MICROSOFT = ['-fms-extensions', '-fms-compatibility', '-ffreestanding']
CXX = ['-fno-exceptions', '-fno-rtti']
WAYS = [('gcc C17', 'gcc', ['-std=c17'], 'c.c'),
        ('clang C17', 'clang', ['-std=c17'], 'c.c'),
        ('clang Microsoft C', 'clang', ['-std=c17'] + MICROSOFT, 'c.c'),
        ('g++ C++17', 'g++', ['-std=c++17'], 'cpp.cpp'),
        ('clang++ C++17', 'clang++', ['-std=c++17'], 'cpp.cpp'),
        ('clang++ Microsoft C++', 'clang++', ['-std=c++17'] + MICROSOFT + CXX, 'cpp.cpp')]


def build_and_run(folder, include, name, way, level, libraries):
    """None when fine, else what went wrong."""
    _, compiler, flags, suffix = way
    program = str(pathlib.Path(folder, 'program'))
    rpath = [f'-Wl,-rpath,{pathlib.Path(item).resolve().parent}' for item in libraries]
    run = subprocess.run([compiler, level, *flags, *COMMON, f'-I{include}/ddk', f'-I{include}/dxg',
                          str(HERE / f'{name}_{suffix}'), *libraries, *rpath, '-o', program],
                         capture_output=True, text=True)
    if run.returncode:
        return run.stderr
    run = subprocess.run([program], capture_output=True, text=True, timeout=60)
    return None if run.returncode == 0 else f'exit {run.returncode}\n{run.stdout}{run.stderr}'


def main():
    include, name, libraries = sys.argv[1], sys.argv[2], sys.argv[3:]
    todo = [(way, level) for way in WAYS for level in ('-O0', '-O2')]
    failed = False
    print(f'1..{len(todo)}')
    with tempfile.TemporaryDirectory() as folder:
        for number, (way, level) in enumerate(todo, 1):
            claim = f'{name}: {way[0]} {level}'
            if not shutil.which(way[1]):
                print(f'ok {number} - {claim} # SKIP install {way[1]}')
                continue
            wrong = build_and_run(folder, include, name, way, level, libraries)
            failed |= wrong is not None
            if wrong:
                print('\n'.join('# ' + line.lstrip('# ') for line in wrong.splitlines()[:20]))
            print(f"{'not ok' if wrong else 'ok'} {number} - {claim}", flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
