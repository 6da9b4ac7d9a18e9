#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every header of include/ddk/ compiles on its own, without a warning, wherever it may be used.

usage: check_headers.py [--each] <include folder>

As C17 and C++17 with both compilers, in clang's Microsoft mode in both languages, and as the host
does it: after libc's headers, with OPENDXGK_BUILD_KERNEL. The packing headers only make sense in
pairs and are tried as such. Alone it is in two ways that have little in common, in the others all of
them together; with --each every one is alone in every way, which takes three times as long.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

STRICT = ['-fsyntax-only', '-fshort-wchar', '-Wall', '-Wextra', '-Werror']
MICROSOFT = ['-fms-extensions', '-fms-compatibility', '-ffreestanding', '-fno-strict-aliasing',
             '-fPIC', '-Wno-pragma-pack']
CXX = ['-fno-exceptions', '-fno-rtti']
LIBC = ''.join(f'#include <{name}.h>\n' for name in (
    'stdint', 'stddef', 'stdio', 'stdlib', 'string', 'wchar', 'setjmp', 'signal', 'stdatomic',
    'pthread'))
# name, compiler, flags, suffix, what comes before
WAYS = [
    ('gcc C17', 'gcc', ['-std=c17'], 'c', ''),
    ('clang C17', 'clang', ['-std=c17', '-Wno-pragma-pack'], 'c', ''),
    ('g++ C++17', 'g++', ['-std=c++17'], 'cc', ''),
    ('clang++ C++17', 'clang++', ['-std=c++17', '-Wno-pragma-pack'], 'cc', ''),
    ('clang Microsoft C', 'clang', ['-std=c17'] + MICROSOFT, 'c', ''),
    ('clang++ Microsoft C++', 'clang++', ['-std=c++17'] + MICROSOFT + CXX, 'cc', ''),
    ('host', 'gcc', ['-std=c17', '-D_GNU_SOURCE', '-DOPENDXGK_BUILD_KERNEL', '-Wundef',
                     '-Wstrict-prototypes'], 'c', LIBC),
]


PACKING = tuple(f'pshpack{size}.h' for size in (1, 2, 4, 8))
ALONE = ('gcc C17', 'clang++ Microsoft C++')


def attempts(include, is_each):
    """(claim, compiler, flags, suffix, source text)"""
    headers = sorted(path.name for path in (include / 'ddk').glob('*.h'))
    for name, compiler, flags, suffix, before in WAYS:
        if not is_each and name not in ALONE:
            text = ''.join(f'#include "{header}"\n' for header in headers if 'pack' not in header)
            yield f'{name}: all headers', compiler, flags, suffix, before + text
        for header in headers if is_each or name in ALONE else PACKING:
            text = f'{before}#include "{header}"\n'
            if header == 'poppack.h':
                continue
            if header.startswith('pshpack'):
                size = min(int(header[7]), 4)
                text += ('struct packed { char first; int second; };\n#include "poppack.h"\n'
                         'typedef char packed_as_told[__builtin_offsetof(struct packed, second)'
                         f' == {size} ? 1 : -1];\n')
            yield f'{name}: {header}', compiler, flags, suffix, text


def compile_alone(include, folder, number, attempt):
    """None when fine, else what the compiler said."""
    _, compiler, flags, suffix, text = attempt
    source = pathlib.Path(folder) / f'alone{number}.{suffix}'
    source.write_text(text)
    run = subprocess.run([compiler, *flags, *STRICT, f'-I{include}/ddk', f'-I{include}/dxg',
                          str(source)], capture_output=True, text=True)
    return None if run.returncode == 0 else run.stderr


def main():
    include = pathlib.Path(sys.argv[-1]).resolve()
    todo = list(attempts(include, '--each' in sys.argv))
    failed = False
    print(f'1..{len(todo)}')
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(compile_alone, include, folder, number, attempt)
                if shutil.which(attempt[1]) else None
                for number, attempt in enumerate(todo)]
        for number, (attempt, job) in enumerate(zip(todo, jobs), 1):
            if not job:
                print(f'ok {number} - {attempt[0]} # SKIP install {attempt[1]}')
                continue
            said = job.result()
            failed |= said is not None
            if said:
                print('\n'.join('# ' + line for line in said.splitlines()[:20]))
            print(f"{'not ok' if said else 'ok'} {number} - {attempt[0]}", flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
