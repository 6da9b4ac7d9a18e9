#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""format_test.py - a reader that is written from docs/trace.md alone finds in a binary trace what the JSON of it has.

usage: format_test.py path-of-dxgk path-of-examples path-of-tools
"""

import collections
import json
import os
import struct
import subprocess
import sys

DXGK, EXAMPLES = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, sys.argv[3])
import tap  # noqa: E402

PATIENCE_S = 60
METADATA, INSTANT = 0, 1
FIRST, EVENTS, LAST = range(3)
U32, U64, HEX, HANDLE, KEY, STATUS, NAME, LITERAL, TEXT, ID = range(10)


def checksum(data):
    def add(total, word):
        return ((total ^ word) * 0x9e3779b97f4a7c15) & (1 << 64) - 1

    sums = [len(data), 1, 2, 3]
    words = [int.from_bytes(data[at:at + 8], 'little') for at in range(0, len(data) // 8 * 8, 8)]
    rows = len(words) // 4 * 4
    for index, word in enumerate(words[:rows]):
        sums[index % 4] = add(sums[index % 4], word)
    total = sums[0]
    for word in words[rows:] + [int.from_bytes(data[len(words) * 8:], 'little')]:
        total = add(total, word)
    for other in sums[1:]:
        total = add(total ^ total >> 32, other)
    return total ^ total >> 32


class Payload:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return int.from_bytes(self.data[self.at - count:self.at], 'little')

    def number(self):
        first = self.take(1)
        more = next((n for n in range(8) if not first & 0x80 >> n), 8)
        return self.take(more) | (first & (0x7f >> more)) << 8 * more

    def text(self):
        end = self.data.index(0, self.at)
        found, self.at = self.data[self.at:end].decode(), end + 1
        return found


def read_table(payload, is_seeded):
    payload.text()                                           # the program
    pid, since, clock = payload.number(), payload.number(), payload.number()
    assert (pid, since, clock) == (1, 0, 0) or not is_seeded
    table = []
    for _ in range(payload.number()):
        kind, names = payload.number(), [payload.text() for _ in range(3)]
        table.append((kind, names, [(payload.number(), payload.text()) for _ in range(payload.number())]))
    return table, [(payload.number(), payload.number()) for _ in range(payload.number())]


def read_field(payload, kind, strings, last):
    if kind == TEXT:
        return payload.text()
    number = payload.number()
    if kind in (NAME, LITERAL):
        if number == len(strings) + 1:
            strings.append(payload.text())
        return strings[number - 1] if number else None
    if kind in (HANDLE, ID):
        if number:
            last[kind] ^= number - 1
        return last[kind] if number else 0
    return number


def read_events(payload, table, forms, time, sequence):
    strings, last, before, is_first = [], {HANDLE: 0, ID: 0}, {}, True
    while payload.at < len(payload.data):
        head = payload.take(1)
        event = head & 127
        if event == 127:
            event += payload.number()
        is_short = event >= len(table)
        if is_short:
            assert not head & 128
            event, own = forms[event - len(table)]
            gap = 0
        else:
            own = len(table[event][2])
            gap = payload.number() if head & 128 else 0
            time += payload.number() if head & 128 else payload.take(2)
        sequence += gap + (not is_first)
        is_first = False
        kind, names, fields = table[event]
        found = {name: read_field(payload, kind, strings, last) for kind, name in fields[:own]}
        for kind_of_field, name in fields[own:]:
            found[name] = before.get(event, {}).get(name, '' if kind_of_field in (NAME, LITERAL, TEXT) else 0)
        before[event] = found
        yield time, sequence, kind, names, found, is_short


def read(path, is_seeded=True):
    """The events in their order; nothing is missing, and no byte is left over. Of a run without a seed, in that of their threads."""
    with open(path, 'rb') as file:
        data = file.read()
    assert data[:16] == b'DXGKTRC\0' + struct.pack('<II', 3, 0), data[:16]
    at, table, forms, found, kinds = 16, None, None, [], []
    while at < len(data):
        magic, size, total, time, sequence, thread, kind, _, _ = struct.unpack_from('<4sIQQQIIQQ', data, at)
        assert magic == b'DBLK' and size <= 65536, at
        assert checksum(data[at + 16:at + 56 + size]) == total, at
        payload = Payload(data[at + 56:at + 56 + size])
        if kind == FIRST:
            table, forms = read_table(payload, is_seeded)
        elif kind == EVENTS:
            found += [(*event, thread) for event in read_events(payload, table, forms, time, sequence)]
        else:
            assert payload.take(1) == 0, 'not everything was written'
        assert payload.at == size, (kind, payload.at, size)
        kinds.append(kind)
        at += 56 + size
    assert kinds[0] == FIRST and kinds[-1] == LAST and set(kinds[1:-1]) == {EVENTS}, kinds
    if is_seeded:
        found.sort(key=lambda event: event[:2])
        assert [event[1] for event in found] == list(range(len(found)))
    return found


def run(root, *words):
    subprocess.run([DXGK, *words], cwd=root, stdout=subprocess.DEVNULL, check=True, timeout=PATIENCE_S)


def test_the_page_is_all_that_a_reader_needs(root):
    run(root, 'trace', '--quiet', '-o', 'a.trace', '--with', 'driver,arguments,addresses,lists', '--', DXGK, 'run', '--quiet',
        '--seed', '1', os.path.join(EXAMPLES, 'pressure.dxgk'))
    run(root, 'trace', '--quiet', '--convert', 'a.trace', '-o', 'a.json')
    with open(os.path.join(root, 'a.json'), encoding='utf-8') as file:
        shown = [event for event in json.load(file)['traceEvents'] if event['ph'] == 'i']
    found = read(os.path.join(root, 'a.trace'))
    moments = [event for event in found if event[2] == INSTANT]
    assert len(moments) > 1000
    assert (collections.Counter((event[3][0], event[0] / 1000) for event in moments) ==
            collections.Counter((event['cat'], event['ts']) for event in shown))
    told = [event[4]['arguments'] for event in moments if 'arguments' in event[4]]
    assert told == [event['args']['arguments'] for event in shown if 'arguments' in event.get('args', {})]
    homes = [hex(event[4]['allocation_id']) for event in moments if event[3][1] == 'allocation_place']
    assert homes and set(homes) <= {event['id'] for event in shown if 'id' in event}


def test_events_in_their_short_forms_are_what_they_are_at_length(root):
    run(root, 'trace', '--quiet', '-o', 'b.trace', '--', DXGK, 'run', '--quiet', os.path.join(EXAMPLES, 'pressure.dxgk'))
    run(root, 'trace', '--quiet', '--convert', 'b.trace', '-o', 'b.json')
    found = read(os.path.join(root, 'b.trace'), is_seeded=False)
    with open(os.path.join(root, 'b.json'), encoding='utf-8') as file:
        shown = [event for event in json.load(file)['traceEvents'] if event.get('name') == 'allocation']
    lives = [event for event in found if event[3][1] == 'allocation_live']
    dead = [event for event in found if event[3][1] == 'allocation_dead']
    assert len(lives) > 10 and dead
    if any(event[2] == METADATA and event[0] > 1 << 32 for event in found) and not any(event[5] for event in lives + dead):
        raise AssertionError('none is in its short form')
    names = ('size_bytes', 'process_id', 'resource_handle', 'adapter_id')
    assert (collections.Counter((hex(event[4]['allocation_id']), *(str(event[4][name]) for name in names[:2])) for event in lives) ==
            collections.Counter((event['id'], *(str(event['args'][name]) for name in names[:2])) for event in shown if event['ph'] == 'b'))
    assert (collections.Counter(hex(event[4]['allocation_id']) for event in dead) ==
            collections.Counter(event['id'] for event in shown if event['ph'] == 'e'))


def test_a_seed_repeats_a_trace_to_the_byte(root):
    for name in ('one', 'two'):
        run(root, 'trace', '--quiet', '-o', name, '--with', 'driver,addresses,lists', '--', DXGK, 'run', '--quiet',
            '--seed', '7', os.path.join(EXAMPLES, 'pressure.dxgk'))
    with open(os.path.join(root, 'one'), 'rb') as one, open(os.path.join(root, 'two'), 'rb') as two:
        assert one.read() == two.read()


tap.run_tests(globals())
