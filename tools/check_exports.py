#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_exports.py - what libdxcore.so exports is what we promised, by name and by type.

usage: check_exports.py libdxcore.so
       check_exports.py --new-baseline libdxcore.so

The names: the version script, tests/abi/exports.txt and the library's dynamic symbols are the same
list, and those of D3DKMT are what the public header declares. The types: abidiff finds no difference from tests/abi/libdxcore.abi, which --new-baseline
(`make abi-baseline`) writes anew when a change is meant.
"""

import os
import re
import subprocess
import sys

import tap
import tree

HEADER = 'include/dxg/d3dkmthk.h'
MAP = 'src/thunk/libdxcore.map'
LIST = 'tests/abi/exports.txt'
BASELINE = 'tests/abi/libdxcore.abi'


def map_names(text):
    """Names under `global:` of a version script."""
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.DOTALL)
    text = re.sub(r'#[^\n]*', ' ', text)
    names = set()
    for body in re.findall(r'\{(.*?)\}', text, re.DOTALL):
        scope = 'global'
        for word in re.findall(r'(\w+)\s*:|([^\s;{}:]+)\s*;', body):
            if word[0]:
                scope = word[0]
            elif scope == 'global':
                names.add(word[1])
    return names


def list_names(text):
    return {line.split('#', 1)[0].strip() for line in text.splitlines()} - {''}


def header_names(text):
    """Functions that a header declares; types of pointers to functions are none."""
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.DOTALL)
    return set(re.findall(r'\bAPIENTRY\s+(D3DKMT\w+)\s*\(', text))


def library_names(path):
    lines = subprocess.run(['nm', '--dynamic', '--defined-only', '--format=posix', path],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    # 'A' is the name of a version, not a symbol one can call.
    return {line.split()[0].split('@')[0] for line in lines if line.split()[1] != 'A'}


def differences(left_name, left, right_name, right):
    return ([f'{name} is in {left_name} but not in {right_name}' for name in sorted(left - right)]
            + [f'{name} is in {right_name} but not in {left_name}' for name in sorted(right - left)])


def abi_differences(root, library):
    baseline = os.path.join(root, BASELINE)
    if not os.path.exists(baseline):
        return [f'there is no {BASELINE}; `make abi-baseline` writes it']
    # No --headers-dir: given for one side only it hides every change of a struct. All types that
    # can be reached from an exported function are public here anyway.
    done = subprocess.run(['abidiff', baseline, library], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        return []
    return (done.stdout + done.stderr).splitlines() + ['if that is meant: make abi-baseline']


def write_baseline(root, library):
    subprocess.run(['abidw', '--no-corpus-path', '--no-comp-dir-path', '--no-show-locs',
                    '--no-elf-needed', '--type-id-style', 'hash',
                    '--out-file', os.path.join(root, BASELINE), library], check=True)


def check(root, library):
    in_map = map_names(tree.read(root, MAP))
    in_list = list_names(tree.read(root, LIST))
    wild = sorted(name for name in in_map if '*' in name or '?' in name)
    return [
        ('the version script names every export one by one',
         [f'{MAP}: {name} is a pattern' for name in wild]),
        ('the version script and the list agree', differences(MAP, in_map, LIST, in_list)),
        ('what the header declares is exported, and the other way round',
         differences(HEADER, header_names(tree.read(root, HEADER)), LIST,
                     {name for name in in_list if name.startswith('D3DKMT')})),
        ('the library exports exactly the list',
         differences('the library', library_names(library), LIST, in_list)),
        ('abidiff finds no change', abi_differences(root, library)),
    ]


def main(arguments):
    libraries = [a for a in arguments if not a.startswith('-')]
    if len(libraries) != 1:
        raise SystemExit('usage: check_exports.py [--new-baseline] libdxcore.so')
    if '--new-baseline' in arguments:
        write_baseline(tree.ROOT, libraries[0])
        return 0
    return tap.report(check(tree.ROOT, libraries[0]))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
