#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every struct, union, enum and call that include/dxg/ declares has its numbers in a table.

Also the other way round: a name in the table that no header declares is a leftover.
usage: check_coverage.py <folder of headers> <table.def>...
"""
import pathlib
import re
import sys

def declared(text):
    """Names a header declares: (structs and unions, enums, calls)."""
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    kinds = {'struct': set(), 'enum': set()}
    for match in re.finditer(r'\btypedef\s+(struct|union|enum)\s+\w+\s*\{', text):
        depth, end = 1, match.end()
        while depth:
            depth += {'{': 1, '}': -1}.get(text[end], 0)
            end += 1
        name = re.match(r'\s*(\w+)', text[end:]).group(1)
        kinds['enum' if match.group(1) == 'enum' else 'struct'].add(name)
    calls = set(re.findall(r'\bNTSTATUS\s+APIENTRY\s+(D3DKMT\w+)\s*\(', text))
    return kinds['struct'], kinds['enum'], calls


def main():
    headers, *tables = sys.argv[1:]
    structs, enums, calls = set(), set(), set()
    for path in sorted(pathlib.Path(headers).glob('*.h')):
        for into, names in zip((structs, enums, calls), declared(path.read_text())):
            into |= names
    rows = ''.join(pathlib.Path(table).read_text() for table in tables)
    rows = re.sub(r'/\*.*?\*/', ' ', rows, flags=re.S)

    def in_table(kind):
        return set(re.findall(r'^%s\((\w+)' % kind, rows, re.M))

    # These take no struct and have no row of their own.
    plain = {'D3DKMTShareObjects', 'D3DKMTSetProcessSchedulingPriorityClass',
             'D3DKMTGetProcessSchedulingPriorityClass'}
    checks = [('struct', structs, in_table('STRUCT')), ('enum', enums, in_table('ENUM')),
              ('call', calls - plain, in_table('CALL'))]
    print('1..%d' % len(checks))
    failed = False
    for number, (kind, there, known) in enumerate(checks, 1):
        for name in sorted(there - known):
            print(f'# {kind} {name} is declared but not in the table')
        for name in sorted(known - there):
            print(f'# {kind} {name} is in the table but not declared')
        good = there == known and there
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - all {len(there)} {kind}s are in the table")
    return failed


if __name__ == '__main__':
    sys.exit(main())
