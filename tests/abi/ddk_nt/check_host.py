#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The host exports every routine and variable that the driver headers declare, or a driver that
compiles would not load.

usage: check_host.py <include folder> <libdxgk.so>
"""
import pathlib
import re
import subprocess
import sys

MARK = 'opendxgk_declared_by_the_host'
# A declaration: the mark, then everything up to the semicolon; the name stands before its parameters,
# or last when it is a variable.
DECLARATION = re.compile(MARK + r'\b([^;{]*);')
FUNCTION = re.compile(r'(\w+)\s*\(')
VARIABLE = re.compile(r'(\w+)\s*$')


def declared(include):
    """Names with NTKERNELAPI in front, in any header of ddk/, and DxgkInitialize and its kind."""
    headers = sorted(path.name for path in (include / 'ddk').glob('*.h')
                     if not re.match(r'(psh|pop)pack', path.name))
    source = ''.join(f'#include "{header}"\n' for header in headers)
    text = subprocess.run(['gcc', '-std=c17', '-fshort-wchar', '-E', '-P', f'-DNTKERNELAPI={MARK}',
                           f'-I{include}/ddk', f'-I{include}/dxg', '-x', 'c', '-'],
                          input=source, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r'\bNTSTATUS (DxgkInitialize\w*|DxgkUnInitialize)\(', text))
    for declaration in DECLARATION.findall(text):
        declaration = re.sub(r'__attribute__\s*\(\(.*?\)\)', '', declaration)
        match = FUNCTION.search(declaration) or VARIABLE.search(declaration)
        names.add(match[1])
    return names


def main():
    include, library = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    lines = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    exported = {line.split()[-1].split('@')[0] for line in lines}
    names = declared(include)
    missing = sorted(names - exported)

    print('1..1')
    for name in missing:
        print(f'# {name} is declared and not exported')
    print(f"{'not ok' if missing else 'ok'} 1 - {len(names)} routines and variables of the driver "
          'headers are exported')
    return bool(missing)


if __name__ == '__main__':
    sys.exit(main())
