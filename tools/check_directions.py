#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_directions.py - members of the driver line's structures say who writes them, its entry points at which level they are entered.

usage: check_directions.py [root]

include/ddk/d3dkmddi.h begins with how: "in", "out" or "in/out" at the member, or behind the brace for all members that have
none. Bits are what the word is that holds them. What has no direction stands below, with the reason.
"""
import re
import sys

import tap
import tree

HEADERS = ('include/ddk/d3dkmddi.h', 'include/ddk/dispmprt.h')
MARK = re.compile(r'/\* (?:in|out|in/out)\b')
OPENS = re.compile(r'^typedef (?:struct|union) (\w+) \{(.*)$')
# A declaration, with what stands behind it.
MEMBER = re.compile(r'^\t+(?:\} *)?(?:[^/;:]*[\s*])?(\w+)(?: *\[[^\]]*\])*( *: *\w+)?;(.*)$')

ENTRY_POINT = re.compile(r'^typedef \w+ APIENTRY (?:DXGKDDI_\w+\(|$)')
LEVEL = re.compile(r'^(?:/\*| \*).*(?:LEVEL|IRQL|level).*\*/$')

VALUE = 'a value: the direction is that of the member it is in'
SHARED = 'memory that the device writes and both sides read'
NONE = {
    '_DXGK_ADL': VALUE,
    '_DXGK_COLORIMETRY': VALUE,
    '_DXGK_DIAGNOSTIC_TYPES': VALUE,
    '_DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES': VALUE,
    '_DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES2': VALUE,
    '_DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES3': VALUE,
    '_DXGK_TRANSFERVIRTUALFLAGS': VALUE,
    '_DXGK_FLIPQUEUE_LOG_ENTRY': SHARED,
    '_DXGK_HISTORY_BUFFER': SHARED,
    '_DXGK_HISTORY_BUFFER_HEADER': SHARED,
    '_DXGK_SCHEDULING_LOG_BUFFER': SHARED,
    '_DXGK_SCHEDULING_LOG_CONTEXT_STATE_CHANGE': SHARED,
    '_DXGK_SCHEDULING_LOG_ENTRY': SHARED,
    '_DXGK_SCHEDULING_LOG_HEADER': SHARED,
}
# Functions that one side hands to the other.
TABLES = re.compile(r'_INTERFACE(_V\d)?$|^_(DRIVER|KMDDOD)_INITIALIZATION_DATA$')


def structures(text):
    """(name, what stands behind its brace, [(member, line number, is it a bit, what stands behind it)])"""
    found = None
    for number, line in enumerate(text.splitlines(), 1):
        opens = OPENS.match(line)
        if opens:
            found = (opens[1], opens[2], [])
        elif found and line.startswith('}'):
            yield found
            found = None
        elif found:
            member = MEMBER.match(line)
            if member:
                found[2].append((member[1], number, bool(member[2]), member[3]))


def is_word_of_bits(members):
    """Bits, and the word that holds them."""
    return any(bit for _, _, bit, _ in members) and sum(not bit for _, _, bit, _ in members) <= 1


def silent_members(header, text):
    for name, brace, members in structures(text):
        if MARK.search(brace) or name in NONE or TABLES.search(name) or is_word_of_bits(members):
            continue
        for member, line, is_bit, said in members:
            if not is_bit and not MARK.search(said):
                yield f'{header}:{line}: {name}.{member} says neither in nor out'


def entry_points_without_level(header, text):
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if ENTRY_POINT.match(line) and not LEVEL.match(lines[number - 1]):
            yield f'{header}:{number + 1}: at which level, and beside whom, is it entered?'


def check(root, without=NONE):
    texts = {header: tree.read(root, header) for header in HEADERS}
    known = {name for text in texts.values() for name, _, _ in structures(text)}
    return [
        ('members say who writes them', [problem for header, text in texts.items() for problem in silent_members(header, text)]),
        ('entry points say at which level they are entered',
         [problem for header, text in texts.items() for problem in entry_points_without_level(header, text)]),
        ('what has no direction exists', [f'{name} is in none of the headers' for name in sorted(set(without) - known)]),
    ]


if __name__ == '__main__':
    sys.exit(tap.report(check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)))
