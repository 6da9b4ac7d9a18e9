#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The display headers of include/ddk/ compile on their own wherever they may be used, draw in no
libc header, and hold the same numbers when compiled as a driver is.

usage: check_display_headers.py <include folder>
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HEADERS = ['d3dukmdt.h', 'd3dkmdt.h', 'd3dkmthk.h', 'd3dkmddi.h', 'dispmprt.h', 'd3d10umddi.h',
           'd3d12umddi.h']
# Headers a display header needs from the rest of include/ddk/; without it there is nothing to check.
NEEDS = {'d3d10umddi.h': 'dxgiformat.h', 'd3d12umddi.h': 'dxgiformat.h'}
STRICT = ['-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-fshort-wchar']
DRIVER = ['-fms-extensions', '-fms-compatibility', '-ffreestanding', '-fno-strict-aliasing', '-fPIC']
DRIVER_CXX = DRIVER + ['-fno-exceptions', '-fno-rtti']
WAYS = [('gcc', ['-std=c17'], 'c'), ('clang', ['-std=c17'], 'c'),
        ('g++', ['-std=c++17'], 'cc'), ('clang++', ['-std=c++17'], 'cc'),
        ('clang', ['-std=c17'] + DRIVER, 'c'), ('clang++', ['-std=c++17'] + DRIVER_CXX, 'cc')]


def attempts(include, tables):
    """(what it proves, compiler, arguments, source suffix, source text)"""
    for compiler, flags, suffix in WAYS:
        driver = '-ffreestanding' in flags
        way = f'{compiler} {flags[0]}' + (' as a driver' if driver else '')
        flags = flags + STRICT + [f'-I{include}/ddk', f'-I{include}/dxg']
        for header in HEADERS:
            if (include / 'ddk' / NEEDS.get(header, header)).exists():
                yield f'{way}: <{header}>', compiler, flags, suffix, f'#include <{header}>\n'
        yield (f'{way}: the headers in the order of a driver', compiler, flags, suffix,
               '#include <ntddk.h>\n#include <dispmprt.h>\n#include <d3dkmthk.h>\n'
               '#include <d3dkmddi.h>\n')
        yield (f'{way}: a version of the driver\'s own', compiler, flags, suffix,
               '#define DXGKDDI_INTERFACE_VERSION 0x300E\n'
               '#define DXGKDDI_INTERFACE_VERSION_WDDM1_3 0x4002\n#include <dispmprt.h>\n'
               'int version_is_kept[DXGKDDI_INTERFACE_VERSION == 0x300E ? 1 : -1];\n')
        if driver:
            yield (f'{way}: the numbers of display_abi.def', compiler,
                   flags + [f'-I{tables}', '-DOPENDXGK_NO_LIBC'], suffix,
                   '#include "display_abi_test.c"\n')


def outsiders(compiler, flags, source, include):
    """Headers outside include/ that the source pulls in, but for the one gcc adds by itself."""
    run = subprocess.run([compiler, *flags, '-M', str(source)], capture_output=True, text=True)
    files = run.stdout.replace('\\\n', ' ').split()[1:]
    return [name for name in files
            if pathlib.Path(name).resolve() != source.resolve()
            and pathlib.Path(name).name != 'stdc-predef.h'
            and include not in pathlib.Path(name).resolve().parents]


def main():
    include = pathlib.Path(sys.argv[1]).resolve()
    tables = pathlib.Path(__file__).resolve().parent
    todo = list(attempts(include, tables))
    failed = False
    print(f'1..{len(todo)}')
    with tempfile.TemporaryDirectory() as folder:
        for number, (claim, compiler, flags, suffix, text) in enumerate(todo, 1):
            if not shutil.which(compiler):
                print(f'ok {number} - {claim} # SKIP install {compiler}')
                continue
            source = pathlib.Path(folder) / f'alone.{suffix}'
            source.write_text(text + 'int alone;\n')
            run = subprocess.run([compiler, *flags, str(source)], capture_output=True, text=True)
            complaints = run.stderr.splitlines()[:20]
            if run.returncode == 0 and 'display_abi_test.c' not in text:
                complaints = [f'{name} is not ours' for name in
                              outsiders(compiler, flags, source, include)]
            failed |= bool(complaints)
            for line in complaints:
                print('# ' + line)
            print(f"{'not ok' if complaints else 'ok'} {number} - {claim}", flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
