#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_exports.py - what the libraries export is what we promised, by name and by type.

usage: check_exports.py libdxcore.so [libdxgk.so libdxgkumd.so]
       check_exports.py --new-baseline libdxcore.so [libdxgk.so libdxgkumd.so]

The names of libdxcore.so: the version script, tests/abi/exports.txt and the library's dynamic symbols are the same
list, and those of D3DKMT are what the public header declares. Those of each library are also what its symbols file in
debian/ lists, with the release that had them first. The types, of what clients and drivers call: abidiff finds no difference from
tests/abi/libdxcore.abi and tests/abi/libdxgk.abi. --new-baseline (`make abi-baseline`) writes all of that anew when a change is meant.
"""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import tap
import tree

HEADER = 'include/dxg/d3dkmthk.h'
MAP = 'src/thunk/libdxcore.map'
LIST = 'tests/abi/exports.txt'
BASELINE = 'tests/abi/libdxcore.abi'
# Of each library: its Debian package, and where its types are kept. Hooks and the way between our own parts
# (dxgk_...) are for one build and promised to nobody.
PACKAGES = {'libdxcore': 'libdxcore', 'libdxgk': 'libdxgk0', 'libdxgkumd': 'libdxgkumd0'}
BASELINES = {'libdxcore': BASELINE, 'libdxgk': 'tests/abi/libdxgk.abi'}
IGNORED = 'tests/abi/internal.abignore'


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


def kind(library):
    """libdxgk for build/embed/libdxgk.so.0.3.0"""
    return os.path.basename(library).split('.so')[0]


def ignored(root):
    path = os.path.join(root, IGNORED)
    return ['--suppressions', path] if os.path.exists(path) else []


def abi_differences(root, library, name=BASELINE):
    baseline = os.path.join(root, name)
    if not os.path.exists(baseline):
        return [f'there is no {name}; `make abi-baseline` writes it']
    # No --headers-dir: given for one side only it hides every change of a struct. All types that
    # can be reached from an exported function are public here anyway.
    done = subprocess.run(['abidiff', *ignored(root), baseline, library], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        return []
    return (done.stdout + done.stderr).splitlines() + ['if that is meant: make abi-baseline']


def reached(corpus):
    """What is exported of a description by abidw, and the types it is made of; the rest is ours alone."""
    declared = [entry for unit in corpus.iter('abi-instr') for entry in unit]
    types = {}
    for entry in declared:
        if entry.get('id'):
            types.setdefault(entry.get('id'), entry)
    kept = [entry for entry in declared if entry.get('elf-symbol-id')]
    seen = set()
    for entry in kept:                      # grows while it is walked
        for part in entry.iter():
            for name in ('type-id', 'naming-typedef-id', 'def-of-decl-id'):
                other = part.get(name)
                if other in types and other not in seen:
                    seen.add(other)
                    kept.append(types[other])
    return set(kept)


def write_baseline(root, library, name=BASELINE):
    path = os.path.join(root, name)
    subprocess.run(['abidw', *ignored(root), '--no-corpus-path', '--no-comp-dir-path', '--no-show-locs',
                    '--no-elf-needed', '--type-id-style', 'hash', '--out-file', path, library], check=True)
    description = xml.etree.ElementTree.parse(path)
    corpus = description.getroot()
    kept = reached(corpus)
    for unit in list(corpus.iter('abi-instr')):
        for entry in list(unit):
            if entry not in kept:
                unit.remove(entry)
        if len(unit) == 0:
            corpus.remove(unit)
    description.write(path)


def symbols_file(library):
    return f'debian/{PACKAGES[kind(library)]}.symbols'


def symbols_names(text):
    return {line.split('@')[0].strip() for line in text.splitlines() if line.startswith(' ')}


def write_symbols(root, library):
    """Names that came are of this release, those that were there keep theirs."""
    path = os.path.join(root, symbols_file(library))
    names = library_names(library)
    version = re.search(r"version: '([\d.]+)'", tree.read(root, 'meson.build'))[1]
    lines = tree.read(root, symbols_file(library)).splitlines()
    kept = [line for line in lines if line.startswith(' ') and symbols_names(line) <= names]
    new = names - symbols_names('\n'.join(kept))
    with open(path, 'w', encoding='utf-8') as file:
        for line in [line for line in lines if not line.startswith(' ')] + sorted(
                kept + [f' {name}@Base {version}' for name in new]):
            print(line, file=file)


def check_others(root, library):
    """What is asked of each library; libdxcore.so has more to answer (check)."""
    claims = [(f'{kind(library)} exports what {symbols_file(library)} lists',
               differences('the library', library_names(library), symbols_file(library),
                           symbols_names(tree.read(root, symbols_file(library)))))]
    if kind(library) != 'libdxcore' and kind(library) in BASELINES:
        claims.append((f'abidiff finds no change of {kind(library)}',
                       abi_differences(root, library, BASELINES[kind(library)])))
    return claims


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
    if not libraries or any(kind(library) not in PACKAGES for library in libraries):
        raise SystemExit('usage: check_exports.py [--new-baseline] libdxcore.so [libdxgk.so libdxgkumd.so]')
    if '--new-baseline' in arguments:
        for library in libraries:
            write_symbols(tree.ROOT, library)
            if kind(library) in BASELINES:
                write_baseline(tree.ROOT, library, BASELINES[kind(library)])
        return 0
    claims = []
    for library in libraries:
        claims += check(tree.ROOT, library) if kind(library) == 'libdxcore' else []
        claims += check_others(tree.ROOT, library)
    return tap.report(claims)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
