#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exports.py - the names of the API sets that calls.def does not have, each with the reason why it is refused.

usage: exports.py apisets.txt calls.def output

Writes REFUSED(name, reason) lines, or REFUSED_FALSE for the one name that answers a BOOLEAN. Both halves of the pair are
compiled with them.
"""

import re
import sys

CALL = re.compile(r'\bCALL(?:_OWN_THUNK)?\(\s*\w+\s*,\s*(\w+)|\bCALL_NOT_BUILT\(\s*(\w+)')
REASONS = {
    'container': 'composes surfaces of a container, and nothing is composed here',
    'display': 'shows, captures or owns what is on a display, and adapters here have none',
    'named': 'names an adapter by its display or window, and adapters here have none: '
             'D3DKMTEnumAdapters2 and D3DKMTOpenAdapterFromLuid find them',
    'network': 'is about displays on a network, and there are none here',
    'unbuilt': 'is not built',
    'unowned': 'asks for the owner of a display, and there is none',
}


def calls_of(path):
    with open(path, encoding='utf-8') as file:
        text = re.sub(r'/\*.*?\*/', ' ', file.read(), flags=re.DOTALL)
    return {first or second for first, second in CALL.findall(text)}


def rows(path):
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.strip() and not line.startswith('#'):
                _, name, group = line.split()
                yield 'D3DKMT' + name, group


def main(names, calls, output):
    built = calls_of(calls)
    lines = []
    for name, group in rows(names):
        if name in built or group == 'gdi':
            continue
        if group not in REASONS:
            sys.exit(f'{names}: {name}: is in no group that has a reason, and calls.def has no such call')
        word = 'REFUSED_FALSE' if group == 'unowned' else 'REFUSED'
        lines.append(f'{word}({name}, "{REASONS[group]}")\n')
    with open(output, 'w', encoding='utf-8') as file:
        file.writelines(lines)


if __name__ == '__main__':
    main(*sys.argv[1:])
