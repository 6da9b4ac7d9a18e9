#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trace_test.py - what a trace has to tell about a run: whose, why, for whom, how long.

usage: trace_test.py path-of-dxgk path-of-examples path-of-profiles path-of-check path-of-tools
"""

import collections
import json
import os
import re
import subprocess
import sys

DXGK, EXAMPLES, PROFILES, CHECK = sys.argv[1:5]
sys.path.insert(0, sys.argv[5])
import tap  # noqa: E402

SMALL = os.path.join(PROFILES, 'small.json')
REASONS = {'room-for', 'budget', 'compact', 'evict-call', 'offer', 'destroy', 'wishes', 'lock', 'suspend', 'control',
           'defrag', 'decommit', 'reset'}


def run(*arguments, **settings):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    return subprocess.run([DXGK, *arguments], env={**environment, **settings}, capture_output=True, text=True,
                          check=False, timeout=200)


def events_of(path):
    with open(path, encoding='utf-8') as file:
        return [event for event in json.load(file)['traceEvents'] if event['ph'] != 'M']


def traced_example(root, name, **settings):
    trace = os.path.join(root, 'trace')
    done = run('run', '--quiet', os.path.join(EXAMPLES, name), DXGK_TRACE=trace, **settings)
    assert done.returncode == 0, done
    done = run('trace', '-o', trace + '.json', '--convert', trace)
    assert (done.returncode, done.stderr) == (0, ''), done
    return events_of(trace + '.json')


def tour_events(root, *arguments):
    trace = os.path.join(root, 'tour.json')
    done = run('tour', '--frames', '14', '--trace', trace, *arguments, DXGK_PROFILE=SMALL)
    assert done.returncode == 0 and 'trace and statistics agree' in done.stdout, done
    return events_of(trace)


def named(events, name):
    return [event for event in events if event.get('name') == name]


def check_departures(events):
    """Each way out was told of, with a reason that is one, right before."""
    why = {}
    count = collections.Counter()
    for event in events:
        args = event.get('args', {})
        if event.get('name') == 'allocation leaves':
            assert args['reason'] in REASONS, event
            why[args['allocation_id']] = args
        if event.get('name') == 'allocation place' and args['place'] == 'leaving':
            told = why.pop(args['allocation_id'])
            assert (told['for_process_id'] != 0) == (told['reason'] in ('room-for', 'budget', 'compact')), told
            count[told['reason']] += 1
    return count


def test_every_allocation_has_an_owner(root):
    events = tour_events(root)
    devices = {(event['args']['process_id'], event['args']['device_handle']) for event in named(events, 'device')
               if event['ph'] == 'b'}
    owners = [event['args'] for event in named(events, 'allocation') if event['ph'] == 'b']
    assert len(owners) > 80
    for owner in owners:
        assert (hex(owner['process_id']), owner['device_handle']) in devices, owner


def test_what_leaves_says_why_and_for_whom(root):
    count = check_departures(tour_events(root))
    assert count['room-for'] + count['budget'] > 10 and count['destroy'] > 0, count


def test_who_waits_for_room_gets_it_or_ends(root):
    waiting = set()
    given = 0
    for event in tour_events(root):
        name, args = event.get('name'), event.get('args', {})
        if name == 'room wanted':
            assert args['allocation_id'] not in waiting and args['size_bytes'] > 0, event
            waiting.add(args['allocation_id'])
        elif name == 'room given':
            waiting.remove(args['allocation_id'])
            given += 1
        elif name == 'allocation' and event['ph'] == 'e':
            waiting.discard(args['allocation_id'])
    assert given > 0 and not waiting, (given, waiting)


def test_budgets_and_segments_are_curves(root):
    events = tour_events(root)
    curves = [event for event in events if event['ph'] == 'C']
    budgets = [event['args'] for event in curves if event['name'] == 'budget']
    segments = [event['args'] for event in curves if event['name'] == 'segment']
    assert budgets and segments
    assert all(set(args) == {'budget_bytes', 'usage_bytes'} for args in budgets), budgets[0]
    assert max(args['resident_bytes'] for args in segments) <= 64 * 1024 * 1024
    sizes = {event['args']['segment']: event['args'] for event in named(events, 'segment is')}
    assert sizes[1]['kind'] == 'local' and sizes[1]['size_bytes'] == 8 * 1024 * 1024, sizes


def test_a_packet_leads_to_its_queue_and_its_process(root):
    events = tour_events(root)
    queues = {event['args']['queue']: event['args'] for event in named(events, 'queue is')}
    queued = {(event['args']['queue'], event['args']['ticket']) for event in named(events, 'packet queued')}
    submitted = [event['args'] for event in named(events, 'packet') if event['ph'] == 'b']
    assert submitted and any(args['queue'] in queues for args in submitted)
    for args in submitted:
        assert (args['queue'], args['ticket']) in queued, args


def test_nodes_are_tracks_and_packets_have_arrows(root):
    trace = os.path.join(root, 'tour.json')
    events = tour_events(root)
    with open(trace, encoding='utf-8') as file:
        names = {(event['pid'], event['tid']): event['args']['name'] for event in json.load(file)['traceEvents']
                 if event['ph'] == 'M' and event['name'] == 'thread_name'}
    tracks = [event for event in events if event['ph'] == 'B' and event['cat'] == 'node']
    assert tracks and all(names[event['pid'], event['tid']].startswith('node ') for event in tracks)
    assert {'node 0 3D (3D)', 'node 1 Copy (copy)'} <= set(names.values()), names
    began = {event['id'] for event in events if event['ph'] == 's'}
    assert began and {event['id'] for event in events if event['ph'] == 't'} <= began

    def moments(name, kinds):
        return {(event['args']['queue'], event['args']['ticket']): event for event in named(events, name)
                if 'kind' not in event['args'] or event['args']['kind'] in kinds}
    signals = moments('packet queued', ('signal',))
    retired = {(event['tid'], event['ts']) for packet, event in moments('packet retired', ()).items() if packet in signals}
    ends = [event for event in events if event['ph'] == 'f']
    assert ends and all((event['tid'], event['ts']) in retired for event in ends), ends[:3]
    assert len(began) == len(moments('packet queued', ('work',)))
    done = subprocess.run([sys.executable, CHECK, trace], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


def test_arguments_come_when_they_are_asked_for(root):
    def arguments(**settings):
        return [event['args']['arguments'] for event in
                named(traced_example(root, 'first_fill.dxgk', DXGK_SEED='1', **settings), 'arguments')]
    assert arguments() == []
    said = arguments(DXGK_TRACE_WITH='arguments')
    assert any('hDevice' in text for text in said), said[:20]
    done = run('info', DXGK_TRACE=os.path.join(root, 'x'), DXGK_TRACE_WITH='everything')
    assert 'DXGK_TRACE_WITH=everything' in done.stderr, done


def test_calls_of_the_driver_come_when_they_are_asked_for(root):
    def categories(**settings):
        trace = os.path.join(root, 'calls.json')
        done = run('run', '--quiet', os.path.join(EXAMPLES, 'first_fill.dxgk'), DXGK_TRACE=trace, **settings)
        assert done.returncode == 0, done
        return collections.Counter(event.get('cat') for event in events_of(trace))
    plain = categories()
    assert plain['api'] > 10 and not plain['ddi'] and not plain['callback'], plain
    for words in ('driver', 'arguments'):
        told = categories(DXGK_TRACE_WITH=words)
        assert told['ddi'] > 10 and told['callback'] > 2, told


def test_a_full_disk_is_said_of_what_is_printed(root):
    trace = os.path.join(root, 'full')
    assert run('run', '--quiet', os.path.join(EXAMPLES, 'pressure.dxgk'), DXGK_TRACE=trace, DXGK_SEED='1').returncode == 0
    for words in (['view', trace, '--query', 'why-evicted'], ['--version'], ['help']):
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = subprocess.run([DXGK, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        assert done.returncode == 1 and 'No space left on device' in done.stderr, done


def test_a_life_is_told_in_one_column_and_json_is_no_trace_to_ask(root):
    trace = os.path.join(root, 'life')
    script = os.path.join(EXAMPLES, 'pressure.dxgk')
    assert run('run', '--quiet', script, DXGK_TRACE=trace, DXGK_SEED='1').returncode == 0
    table = json.loads(run('view', trace, '--query', 'why-evicted', '--json').stdout)
    victim = table['rows'][0][table['columns'].index('allocation')].split()[-1]
    lines = run('why', victim, trace).stdout.splitlines()[1:]
    columns = {re.match(r' *[0-9.]+ (ns|µs|ms|s)  ', line).end() for line in lines}
    assert len(lines) > 4 and len(columns) == 1 and {line.split()[1] for line in lines} >= {'µs', 'ms'}, lines
    assert run('run', '--quiet', script, DXGK_TRACE=trace + '.json', DXGK_SEED='1').returncode == 0
    for words in (['view'], ['why', victim]):
        done = run(*words, trace + '.json')
        assert done.returncode == 1 and 'a trace in JSON' in done.stderr, done


def test_lists_of_packets_come_when_they_are_asked_for(root):
    profile = os.path.join(root, 'physical.json')
    with open(profile, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'soft', 'name': 'soft', 'registry': {'AddressModel': 'physical'}}]}, file)

    def lists(**settings):
        trace = os.path.join(root, 'tour.json')
        done = run('tour', '--frames', '2', '--quiet', '--trace', trace, DXGK_PROFILE=profile, **settings)
        assert done.returncode == 0, done
        return events_of(trace)
    assert not named(lists(), 'packet lists')
    events = lists(DXGK_TRACE_WITH='lists')
    listed = [event['args'] for event in named(events, 'packet lists')]
    assert listed and {args['is_written'] for args in listed} == {0, 1}, listed[:20]
    assert {args['allocation_id'] for args in listed} <= {event['args']['allocation_id'] for event in
                                                          named(events, 'allocation') if event['ph'] == 'b'}
    # The next packet that the thread queues is the one that has them.
    pending = {}
    for event in events:
        if event.get('name') == 'packet lists':
            pending[event['tid']] = event['args']['queue']
        elif event.get('name') == 'packet queued':
            assert pending.pop(event['tid'], event['args']['queue']) == event['args']['queue'], event
    assert not pending


def test_every_example_tells_why_what_leaves_leaves(root):
    for name in sorted(os.listdir(EXAMPLES)):
        if name.endswith('.dxgk'):
            check_departures(traced_example(root, name, DXGK_SEED='1'))


def test_an_event_of_the_tour_takes_less_than_20_bytes(root):
    trace = os.path.join(root, 'tour')
    done = run('tour', '--frames', '14', '--quiet', '--trace', trace, DXGK_PROFILE=SMALL)
    assert done.returncode == 0, done
    done = run('trace', '-o', trace + '.json', '--convert', trace)
    assert (done.returncode, done.stderr) == (0, ''), done
    count = len(events_of(trace + '.json'))
    assert os.path.getsize(trace) < 20 * count, (os.path.getsize(trace), count)


tap.run_tests(globals())
