#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every header of include/dxg/ compiles on its own, without a warning, wherever it may be used.

usage: check_headers.py <include folder>
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

WSL = '/usr/include'
STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fsyntax-only']
DRIVER = ['-fms-extensions', '-fms-compatibility', '-ffreestanding', '-fshort-wchar',
          '-Wall', '-Wextra', '-Werror', '-fsyntax-only']
WAYS = [('gcc', ['-std=c11'] + STRICT, 'c'), ('gcc', ['-std=c17'] + STRICT, 'c'),
        ('g++', ['-std=c++17'] + STRICT, 'cc'),
        ('clang', ['-std=c11'] + STRICT, 'c'), ('clang', ['-std=c17'] + STRICT, 'c'),
        ('clang++', ['-std=c++17'] + STRICT, 'cc'),
        ('clang', ['-std=c17'] + DRIVER, 'c'), ('clang++', ['-std=c++17'] + DRIVER, 'cc')]


def attempts(include):
    """(what it proves, compiler, arguments, source suffix, source text)"""
    headers = sorted(path.name for path in (include / 'dxg').glob('*.h'))
    driver_types = include / 'ddk' / 'ntdef.h'
    for compiler, flags, suffix in WAYS:
        way = f'{compiler} {flags[0]}' + (' as a driver' if '-ffreestanding' in flags else '')
        for header in headers:
            yield (f'{way}: <dxg/{header}>', compiler, flags + [f'-I{include}'], suffix,
                   f'#include <dxg/{header}>\n')
        yield (f'{way}: <d3dkmthk.h> with -I include/dxg', compiler,
               flags + [f'-I{include}/dxg'], suffix, '#include <d3dkmthk.h>\n')
        if driver_types.exists() and '-ffreestanding' in flags:
            yield (f'{way}: <d3dkmthk.h> after ntdef.h', compiler,
                   flags + [f'-I{include}/ddk', f'-I{include}/dxg'], suffix,
                   '#include <ntdef.h>\n#include <d3dkmthk.h>\n')
    # Programs that use DirectX-Headers bring their basic types along: same layout on top of those.
    table = pathlib.Path(__file__).resolve().parent / 'client_abi.def'
    for compiler in ('g++', 'clang++'):
        yield (f'{compiler}: <d3dkmthk.h> after <wsl/winadapter.h>', compiler,
               ['-std=c++17', '-Werror', '-fsyntax-only', f'-I{WSL}/wsl/stubs', f'-I{include}/dxg'],
               'cc',
               '#include <wsl/winadapter.h>\n#include <directx/dxcore.h>\n#include <d3dkmthk.h>\n'
               '#define STRUCT(name, bytes) static_assert(sizeof(name) == (bytes), #name);\n'
               '#define FIELD(name, field, offset, bytes) \\\n'
               'static_assert(__builtin_offsetof(name, field) == (offset), #name "." #field);\n'
               '#define TAIL(...)\n#define BITS(...)\n#define ENUM(...)\n#define CONSTANT(...)\n'
               f'#define CALL(...)\n#include "{table}"\n')
    # libstdc++ names its variables like some of the old annotations.
    for compiler in ('g++', 'clang++'):
        yield (f'{compiler}: the C++ library after our headers', compiler,
               ['-std=c++17'] + STRICT + [f'-I{include}'], 'cc',
               '#include <dxg/d3dkmthk.h>\n#include <iostream>\n#include <regex>\n'
               '#include <locale>\n#include <filesystem>\n#include <future>\n')


def main():
    include = pathlib.Path(sys.argv[1]).resolve()
    failed = False
    todo = list(attempts(include))
    print(f'1..{len(todo)}')
    with tempfile.TemporaryDirectory() as folder:
        for number, (claim, compiler, flags, suffix, text) in enumerate(todo, 1):
            missing = None if shutil.which(compiler) else compiler
            if 'winadapter.h' in text and not pathlib.Path(WSL, 'wsl', 'winadapter.h').exists():
                missing = 'directx-headers-dev'
            if missing:
                print(f'ok {number} - {claim} # SKIP install {missing}')
                continue
            source = pathlib.Path(folder) / f'alone.{suffix}'
            source.write_text(text + 'int alone;\n')
            run = subprocess.run([compiler, *flags, str(source)], capture_output=True, text=True)
            good = run.returncode == 0
            failed |= not good
            if not good:
                print('\n'.join('# ' + line for line in run.stderr.splitlines()[:20]))
            print(f"{'ok' if good else 'not ok'} {number} - {claim}", flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
