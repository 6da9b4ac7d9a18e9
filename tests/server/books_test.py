#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""books_test.py - of every example: what the trace tells, what the page shows and what the kernel counted is the same, to the byte.

usage: books_test.py path-of-dxgk path-of-dxgkd path-of-examples path-of-tests/view path-of-tools
"""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

DXGK, DXGKD, EXAMPLES = map(os.path.abspath, sys.argv[1:4])
sys.path[:0] = sys.argv[4:6]
import page_data  # noqa: E402
import dxgkd  # noqa: E402
import tap  # noqa: E402
from dxgkd import environment  # noqa: E402

PATIENCE = 100
STATES = ['out', 'entering', 'in', 'leaving', 'shifting']        # enum view_state
Books = collections.namedtuple('Books', 'in_count in_bytes out_count out_bytes')


def run(*words):
    done = subprocess.run([DXGK, *words], env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done
    return done.stdout


def add_up(moves):
    """Of (allocation, size, state), in order. Only what arrived has come in, and goes out."""
    state, count = {}, [0, 0, 0, 0]
    for allocation, size, now in moves:
        before = state.get(allocation, 'out')
        if now == 'in' and before == 'entering':
            count[0] += 1
            count[1] += size
        if now == 'out' and before not in ('out', 'entering'):
            count[2] += 1
            count[3] += size
        state[allocation] = now
    return Books(*count)


def of_trace(path):
    with open(path, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    return add_up((args['allocation_id'], args['size_bytes'], args['place'])
                  for args in (event['args'] for event in events if event.get('name') == 'allocation place'))


def of_page(path):
    _, tables = page_data.read(path)
    states, sizes = tables['states'], tables['allocations']['size']
    return add_up((row, sizes[row], STATES[state]) for row, state in zip(states['allocation'], states['state']))


def of_statistics(text):
    came, went = (re.search(rf'^  {words} +(\d+) +(\d+) bytes$', text, re.MULTILINE) for words in ('came in', 'went out'))
    return Books(int(came[1]), int(came[2]), int(went[1]), int(went[2]))


def prepare(root, name):
    """The script without its adapter, and a profile with that: a server's adapter is as it is."""
    with open(os.path.join(EXAMPLES, name), encoding='utf-8') as file:
        lines = file.readlines()
    settings = {key: int(value) for line in lines if line.startswith('adapter ')
                for key, value in re.findall(r'(\w+)=(\d+)', line)}
    script, profile = os.path.join(root, name), os.path.join(root, 'profile.json')
    with open(script, 'w', encoding='utf-8') as file:
        file.writelines(line for line in lines if not line.startswith('adapter '))
    with open(profile, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'soft', 'name': 'soft', 'registry': settings}]}, file)
    return script, profile


def statistics_when_all_is_over(path):
    """The end of a client takes its time: then its memory is not there any more."""
    deadline = time.monotonic() + PATIENCE
    while True:
        text = run('ctl', '--socket', path, 'stats')
        found = of_statistics(text)
        if found.in_count == found.out_count:
            return found
        assert time.monotonic() < deadline, text


def check_example(root, name):
    script, profile = prepare(root, name)
    path, trace = (os.path.join(root, each) for each in ('dxgk.sock', 'trace'))
    server = dxgkd.start(DXGKD, root, env=environment(DXGK_PROFILE=profile, DXGK_TRACE=trace), stderr=subprocess.DEVNULL)
    run('run', '--quiet', '--socket', path, script)
    counted = statistics_when_all_is_over(path)
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=PATIENCE) == 0
    run('trace', '-o', trace + '.json', '--convert', trace)
    run('view', trace, '-o', trace + '.html')
    assert of_trace(trace + '.json') == counted == of_page(trace + '.html'), (
        of_trace(trace + '.json'), counted, of_page(trace + '.html'))
    return counted


def add_tests():
    for each in sorted(os.listdir(EXAMPLES)):
        if not each.endswith('.dxgk'):
            continue

        def test(root, name=each):
            counted = check_example(root, name)
            assert counted.in_count > 0 or name == 'hang.dxgk', counted
        globals()[f'test_the_books_agree_of_{each[:-len(".dxgk")]}'] = test


add_tests()

if __name__ == '__main__':
    tap.run_tests(globals())
