#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tour_test.py - dxgk tour: every byte is looked at, its numbers add up, its page can be read.

usage: tour_test.py path-of-dxgk path-of-profiles path-of-tools
"""

import json
import os
import pty
import re
import subprocess
import sys

DXGK, PROFILES = sys.argv[1:3]
sys.path.insert(0, sys.argv[3])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'view'))
import page_data  # noqa: E402
import tap  # noqa: E402

VIRTUAL = os.path.join(PROFILES, 'small.json')
PHYSICAL = os.path.join(PROFILES, 'small_physical.json')
FRAMES = 14  # a whole round of the client that idles, and the beginning of another
MIB = 1024 * 1024


def environment_with(settings):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    environment.update(settings)
    return environment


def run(*arguments, verb='tour', **settings):
    return subprocess.run([DXGK, verb, *arguments], env=environment_with(settings),
                          capture_output=True, text=True, check=False, timeout=200)


def tour(*arguments, profile=VIRTUAL):
    return run('--frames', str(FRAMES), *arguments, DXGK_PROFILE=profile)


def numbers(text, pattern):
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return [float(number) for number in found.groups()]


def check_report(text):
    assert 'tour: 24 MiB wanted of 8 MiB local memory' in text, text
    frames, uses = numbers(text, r'frames +(\d+) with (\d+) uses')
    assert (frames, uses) == (FRAMES, 8 * FRAMES), text
    assert numbers(text, r'stream +(\d+) chunks') == [2 * FRAMES], text
    offers, kept, discarded = numbers(text, r'(\d+) offers: (\d+) kept, (\d+) discarded')
    assert offers == 2 * 32 and kept + discarded == offers, text
    assert 'trace and statistics agree' in text, text
    assert ': 0 wrong bytes' in text, text
    for id in (1, 2):
        into, into_count, out, out_count, stayed = numbers(
            text, fr'segment {id} .*: in (\S+) MiB \((\d+)\), out (\S+) MiB \((\d+)\), stayed (\S+) MiB')
        assert abs(into - out - stayed) < 0.11 and into_count == out_count, text


def events_of(path):
    with open(path, encoding='utf-8') as file:
        return [event for event in json.load(file)['traceEvents']
                if 'allocation_id' in event.get('args', {})]


def check_places(events, text):
    """Every step of a place follows from the one before, and the sums are those of the report."""
    steps = {('out', 'entering'), ('entering', 'in'), ('entering', 'out'), ('in', 'leaving'),
             ('leaving', 'in'), ('leaving', 'out')}
    at = {}
    lent = {}
    sums = {(id, way): 0 for id in (1, 2) for way in ('in', 'out')}
    room = {1: 0, 2: 0}
    most = {1: 0, 2: 0}
    for event in events:
        args = event['args']
        if event['name'] == 'allocation lends':
            assert at[args['allocation_id']] == ('leaving', args['segment']), event
            lent[args['allocation_id']] = lent.get(args['allocation_id'], 0) + args['lent_bytes']
            room[args['segment']] -= args['lent_bytes']
        if event['name'] != 'allocation place':
            continue
        before, segment = at.get(args['allocation_id'], ('out', 0))
        place, size = args['place'], args['size_bytes']
        assert (before, place) in steps, (before, event)
        if place == 'entering':
            room[args['segment']] += size
            most[args['segment']] = max(most[args['segment']], room[args['segment']])
        if (before, place) == ('entering', 'in'):
            sums[args['segment'], 'in'] += size
        if place == 'out':
            room[segment] -= size - lent.pop(args['allocation_id'], 0)
        if (before, place) == ('leaving', 'out'):
            sums[segment, 'out'] += size
        at[args['allocation_id']] = (place, args['segment'])
    for id in (1, 2):
        into, out, largest = numbers(text, fr'segment {id} .*: in (\S+) .*out (\S+) .*at most (\S+) MiB')
        for shown, exact in ((into, sums[id, 'in']), (out, sums[id, 'out']), (largest, most[id])):
            assert abs(shown - exact / MIB) < 0.06, (id, shown, exact)
        assert sums[id, 'in'] - sums[id, 'out'] == room[id] == 0, sums
    assert most[1] <= 8 * MIB and not lent, most
    assert sums[1, 'in'] > 8 * MIB, 'nothing had to make room'


def check_page(path, events):
    header, tables = page_data.read(path)
    assert header['title'] == 'dxgk tour' and not header['is_cut'], header['title']
    lives = [event for event in events if event['ph'] == 'b']
    assert len(tables['allocations']['id']) == len(lives)
    places = [event for event in events if event['name'] == 'allocation place']
    assert len(tables['states']['state']) == len(places)
    devices = tables['devices']
    owners = {}
    for name, handle in zip(devices['thread'], devices['handle']):
        owner = header['texts'][tables['threads']['name'][name - 1]]
        owners[owner] = tables['allocations']['device'].count(handle)
    for owner, least in (('frames', 48), ('stream', 2 * FRAMES), ('idle', 32)):
        assert least <= owners[owner] <= least + 3, (owner, owners)


def check_model(root, profile):
    page = os.path.join(root, 'tour.html')
    trace = os.path.join(root, 'tour.json')
    done = tour('--html', page, '--trace', trace, profile=profile)
    assert done.returncode == 0 and done.stderr == '', done
    check_report(done.stdout)
    events = events_of(trace)
    check_places(events, done.stdout)
    check_page(page, events)


def test_with_virtual_addresses_every_byte_is_there_and_the_numbers_add_up(root):
    check_model(root, VIRTUAL)


def test_with_allocation_lists_every_byte_is_there_and_the_numbers_add_up(root):
    check_model(root, PHYSICAL)


def test_a_wrong_byte_is_found_and_what_led_to_it_is_shown(root):
    page = os.path.join(root, 'wrong.html')
    for profile in (VIRTUAL, PHYSICAL):
        done = tour('--spoil', '--html', page, profile=profile)
        assert done.returncode == 1, done
        assert ' 1 of ' in done.stderr and 'not what was written' in done.stderr, done
        assert ': 1 wrong bytes' in done.stdout, done
        assert page_data.read(page)[1]['allocations']['id']


def test_a_seed_says_what_the_clients_do(_root):
    def copied(seed):
        done = tour('--seed', seed)
        assert done.returncode == 0, done
        return numbers(done.stdout, r'(\S+) MiB copied by the GPU')

    assert copied('3') == copied('3')
    assert len({tuple(copied(seed)) for seed in ('3', '4', '5', '6')}) > 1


def test_quiet_is_quiet(_root):
    done = tour('--quiet')
    assert (done.returncode, done.stdout, done.stderr) == (0, '', ''), done


def test_without_a_profile_it_brings_its_own(_root):
    done = run('--frames', '2')
    assert done.returncode == 0 and '192 MiB wanted of 64 MiB' in done.stdout, done


def test_a_trace_that_was_asked_for_is_kept(root):
    path = os.path.join(root, 'kept.json')
    done = run('--frames', '2', '--quiet', DXGK_TRACE=path, DXGK_PROFILE=VIRTUAL)
    assert done.returncode == 0, done
    assert len([event for event in events_of(path) if event['ph'] == 'b']) > 80


def test_what_makes_no_sense_is_refused(root):
    for arguments in (['--frames', '0'], ['--frames', '-1'], ['--frames', 'ten'], ['--frames', ''],
                      ['--frames', '100001'], ['--frames', '1x'], ['--frames'], ['--seed', 'x'],
                      ['--seed', '-1'], ['--seed', '99999999999999999999'], ['--fast'], ['more'],
                      ['--html', os.path.join(root, 'no', 'such', 'folder')]):
        done = tour(*arguments)
        assert done.returncode == 2 and done.stdout == '' and done.stderr, (arguments, done)
    done = run('--frames', '2', DXGK_SEED='1')
    assert done.returncode == 2 and 'DXGK_SEED' in done.stderr, done


def test_without_an_adapter_it_says_so(root):
    path = os.path.join(root, 'none.json')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('{"adapters": []}')
    done = run('--frames', '2', DXGK_PROFILE=path)
    assert done.returncode == 1 and 'no adapter' in done.stderr, done


def test_on_a_terminal_it_draws_bars(_root):
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        raise tap.Skip(f'there is no terminal to be had: {error}') from error
    child = subprocess.Popen([DXGK, 'tour', '--frames', str(FRAMES)], stdout=theirs,
                             env=environment_with({'DXGK_PROFILE': VIRTUAL}))
    os.close(theirs)
    shown = b''
    try:
        while True:
            shown += os.read(ours, 65536)
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    assert child.wait(timeout=200) == 0, shown
    bars = re.findall(rb'1 local +\[([#.]{40})\]', shown)
    assert len(bars) >= 2 and b'\033[4A' in shown, shown
    assert bars[-1].count(b'#') < 40, 'the clients are gone, and what they had'
    assert b'tour: 24 MiB wanted' in shown, shown
    assert '\033' not in tour().stdout


def test_every_step_of_an_allocation_is_an_event(root):
    """Life, content, offer and use, in the order of a script that goes through all of them."""
    script = os.path.join(root, 'steps.dxgk')
    trace = os.path.join(root, 'steps.json')
    with open(script, 'w', encoding='utf-8') as file:
        file.write('adapter LocalMemoryMiB=8 ApertureMiB=16\nclient alice\n'
                   'allocate thing alice 320K local\n'
                   'resident thing\nwait alice\nresident thing\nwrite thing 0x1\n'
                   'offer thing low\nreclaim thing kept\n'
                   'evict thing\nevict thing\nwait thing\ndestroy thing\n')
    done = run('-o', trace, '--', DXGK, 'run', '--quiet', script, verb='trace')
    assert done.returncode == 0, done
    events = events_of(trace)
    (thing,) = {event['args']['allocation_id'] for event in events
                if event['args'].get('size_bytes') == 320 * 1024}
    told = {'life': [], 'content': [], 'offer': [], 'count': [], 'locks': [], 'place': []}
    for event in events:
        if event['args']['allocation_id'] != thing:
            continue
        if event['name'] in ('allocation', 'allocation dying'):
            told['life'].append(event['ph'])
        for kind in told:
            if kind in event['args']:
                told[kind].append(event['args'][kind])
    assert told['life'] == ['b', 'i', 'e'], told
    assert told['content'] == ['local', 'backed', 'none'], told
    assert told['offer'] == ['offered', 'not offered'], told
    assert told['count'] == [1, 2, 1, 0], told
    assert told['locks'] == [1, 0], told
    assert told['place'] == ['entering', 'in', 'leaving', 'out'], told


tap.run_tests(globals())
