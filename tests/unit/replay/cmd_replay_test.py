#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cmd_replay_test.py - dxgk replay, as people and programs read it.

usage: cmd_replay_test.py path-of-dxgk path-of-tools
"""

import json
import os
import subprocess
import sys

DXGK = sys.argv[1]
sys.path.insert(0, sys.argv[2])
import tap  # noqa: E402

POLICIES = ['lru', 'adaptive', 'lfu', 'sieve', 's3-fifo', '2q', 'arc', 'lirs', 'w-tinylfu', 'gdsf', 'lhd']


def run(*arguments):
    return subprocess.run([DXGK, 'replay', *arguments], capture_output=True, text=True, check=False)


def test_a_generated_workload_needs_no_file(root):
    done = run('--generate', 'cyclic:1.25', '--seed', '7')
    assert done.returncode == 0 and done.stderr == '', done
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line[:2] == '  '}
    assert set(rows) == {'policy', 'belady', *POLICIES}, done.stdout
    assert rows['belady'][3] == '1.00' and rows['lru'][3] == '4.69', done.stdout
    assert float(rows['adaptive'][3]) < 1.25, done.stdout
    assert run('--generate', 'cyclic:1.25', '--seed', '7').stdout == done.stdout
    assert run('--generate', 'cyclic:1.25', '--seed', '8').stdout != done.stdout


def test_json_says_the_same(root):
    answer = json.loads(run('--generate', 'drift', '--seed', '2', '--json').stdout)
    assert [row['policy'] for row in answer['policies']] == ['belady', *POLICIES], answer
    belady, lru, adaptive = answer['policies'][:3]
    assert lru['bytesMoved'] > adaptive['bytesMoved'] > belady['bytesMoved'], answer
    assert abs(lru['bytesMoved'] / belady['bytesMoved'] - lru['timesBelady']) < 0.001, answer
    assert answer['segmentBytes'] % 4096 == 0, answer


def test_explain_tells_what_each_was_taken_for(root):
    arguments = ('--generate', 'cyclic:1.5', '--policy', 'adaptive', '--explain')
    answer = json.loads(run(*arguments, '--json').stdout)
    adaptive = answer['policies'][-1]
    rows = {row['takenFor']: row for row in adaptive['beliefs']}
    # Frames: nearly all that leave are known to come back, and do when they were expected.
    active = rows['active']
    assert active['left'] > 0.8 * sum(row['left'] for row in rows.values()), rows
    assert active['cameBack'] > 0.9 * active['left'], rows
    assert 0.9 < active['cameAfter'] / active['expectedAfter'] < 1.1, rows
    assert all(row['cameBack'] <= row['left'] <= adaptive['misses'] for row in rows.values()), rows
    shown = run(*arguments).stdout
    assert 'taken for' in shown and f"active {active['left']:>14}" in shown, shown
    assert 'taken for' not in run(*arguments[:-1]).stdout


def test_one_policy_is_shown_beside_lru(root):
    def names(policy):
        answer = json.loads(run('--generate', 'apps', '--policy', policy, '--json').stdout)
        return [row['policy'] for row in answer['policies']]
    assert names('lru') == ['belady', 'lru']
    assert names('adaptive') == ['belady', 'lru', 'adaptive']


def test_what_was_written_replays_the_same(root):
    path = os.path.join(root, 'written.json')
    first = run('--generate', 'phases:1.5', '--write', path)
    assert first.returncode == 0, first
    with open(path, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    assert sum(event['name'] == 'allocation use' for event in events) == 90000
    assert run(path, '--times', '1.5').stdout == first.stdout
    assert run(path).stdout != first.stdout


def test_a_recorded_trace_is_replayed_in_a_segment_of_a_size(root):
    path = os.path.join(root, 'recorded.json')
    lines = ['{"traceEvents":[', '{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{}},']
    for number in range(3):
        lines.append('{"ph":"b","cat":"allocation","pid":1,"tid":1,"ts":1.0,"name":"allocation",'
                     f'"id":"0x{number}","args":{{"allocation_id":"0x{number}",'
                     '"size_bytes":65536}},')
    for number in (0, 1, 2) * 4:
        lines.append('{"ph":"i","cat":"residency","pid":1,"tid":1,"ts":2.0,"s":"t",'
                     f'"name":"allocation use","id":"0x{number}"}},')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(lines) + '\n{}],"displayTimeUnit":"ns"}\n')
    answer = json.loads(run(path, '--segment', '131072', '--json').stdout)
    assert answer['segmentBytes'] == 131072 and answer['referenceBytes'] == 3 * 65536, answer
    assert answer['policies'][1]['bytesMoved'] == 12 * 65536, answer
    answer = json.loads(run(path, '--segment', '0x30000', '--json').stdout)
    assert answer['policies'][1]['bytesMoved'] == 3 * 65536, answer
    answer = json.loads(run(path, '--segment', '4096', '--json').stdout)
    assert answer['tooLarge'] == 12 and answer['uses'] == 0, answer


def test_wrong_usage_is_said(root):
    for arguments, reason in (
            ([], 'either one FILE or --generate'),
            (['a', 'b'], 'either one FILE or --generate'),
            (['a', '--generate', 'cyclic'], 'either one FILE or --generate'),
            (['--generate', 'frames'], 'no kind "frames"'),
            (['--generate', 'cyclic:'], '"cyclic:"'),
            (['--generate', 'cyclic:0'], '"cyclic:0"'),
            (['--generate', 'cyclic:nan'], '"cyclic:nan"'),
            (['a', '--times', '-1'], '--times: "-1"'),
            (['a', '--segment', '0'], '--segment: "0"'),
            (['a', '--segment', '12x'], '--segment: "12x"'),
            (['a', '--segment', '-5'], '--segment: "-5"'),
            (['a', '--policy', 'fifo'], '--policy: "fifo"'),
            (['a', '--seed', ''], '--seed: ""'),
            (['--nonsense'], 'nonsense')):
        done = run(*arguments)
        assert done.returncode == 2 and reason in done.stderr and done.stdout == '', (arguments, done)


def test_files_that_cannot_be_used_are_said(root):
    done = run(os.path.join(root, 'nowhere.json'))
    assert done.returncode == 1 and 'No such file' in done.stderr, done
    path = os.path.join(root, 'no_trace.json')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('{}\n')
    done = run(path)
    assert done.returncode == 1 and 'no_trace.json:1: this is no trace' in done.stderr, done
    done = run('--generate', 'apps', '--write', os.path.join(root, 'no', 'folder.json'))
    assert done.returncode == 1 and 'folder.json' in done.stderr and done.stdout == '', done
    done = run('--generate', 'apps', '--write', '/dev/full')
    assert done.returncode == 1 and 'No space left' in done.stderr, done


def test_help_lists_the_kinds(root):
    done = run('--help')
    assert done.returncode == 0 and done.stderr == '', done
    for kind in ('cyclic', 'shuffled', 'drift', 'zipf-0.8', 'mixed'):
        assert f'  {kind} ' in done.stdout, done.stdout


if __name__ == '__main__':
    tap.run_tests(globals())
