#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cli_test.py - dxgk and a server: ctl, info and trace speak to it; run and tour make each client a process.

usage: cli_test.py path-of-dxgk path-of-dxgkd path-of-ctl_client path-of-examples path-of-tools
"""

import contextlib
import grp
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

DXGK, DXGKD, CLIENT, EXAMPLES = map(os.path.abspath, sys.argv[1:5])
sys.path.insert(0, sys.argv[5])
import dxgkd  # noqa: E402
import tap  # noqa: E402
from dxgkd import environment  # noqa: E402

MIB = 1 << 20
NOBODY = 65534


def run(*words, status=0, text=None, settings=None):
    done = subprocess.run(words, env=environment(**(settings or {})), input=text, capture_output=True, text=True,
                          check=False, timeout=200)
    assert done.returncode == status, done
    return done


class Server:
    """dxgkd at root/dxgk.sock. Its end has to be in order."""

    def __init__(self, root, *options, **settings):
        self.path = os.path.join(root, 'dxgk.sock')
        self.process = dxgkd.start(DXGKD, root, *options, env=environment(**settings), stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        _, self.said = self.process.communicate(timeout=60)
        assert kind or self.process.returncode == 0, self.said

    def ctl(self, *words, status=0):
        done = run(DXGK, 'ctl', '--socket', self.path, *words, status=status)
        return done.stdout if status == 0 else done.stdout + done.stderr


class Client:
    """A program with a MiB resident, which ends when its input does."""

    def __init__(self, path, *words):
        self.process = dxgkd.start_client(CLIENT, *words, DXGK_SOCKET=path)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.communicate('', timeout=60)
        assert kind or self.process.returncode == 0


def test_check_says_that_the_books_are_right(root):
    with Server(root) as server, Client(server.path), Client(server.path):
        assert server.ctl('check') == 'books: right\n'
        assert run(DXGK, 'ctl', 'check', settings={'DXGK_SOCKET': server.path}).stdout == 'books: right\n'


def test_check_looks_while_calls_wait(root):
    with Server(root) as server, Client(server.path, 'wait'), Client(server.path, 'wait'), Client(server.path):
        begun = time.monotonic()
        for _ in range(5):
            assert server.ctl('check') == 'books: right\n'
        assert time.monotonic() - begun < 3                  # at once, and not when a patience is over


def test_check_names_a_call_that_goes_on_and_looks_at_the_rest(root):
    with Server(root) as server, Client(server.path), Client(server.path, 'fill') as filler:
        said = server.ctl('check', status=1)
        assert re.fullmatch(rf'a call of ctl_client\[{filler.process.pid}\] goes on and does not end: '
                            'only the books of the adapters were looked at\n', said), said
        filler.__exit__(None)
        deadline = time.monotonic() + 30
        while run_status(DXGK, 'ctl', '--socket', server.path, 'check') != 0:
            assert time.monotonic() < deadline


def map_of(*target):
    """The map of segment 1, which has to be without overlaps and holes, and to agree with itself."""
    found = json.loads(run(DXGK, 'ctl', *target, 'map', '1', '--json').stdout)
    end = 0
    for each in found['runs']:
        assert each['offset'] == end and each['bytes'] > 0, (each, end)
        end += each['bytes']
    assert end == found['sizeBytes'], found
    gaps = [each['bytes'] for each in found['runs'] if each['kind'] == 'free']
    assert found['sizeBytes'] - sum(gaps) == found['residentBytes'], found
    assert max(gaps) == found['largestGapBytes'], found
    return found


def resident_of(stats):
    return int(re.search(r'^segment 1\n.*\n +resident +(\d+) bytes', stats, re.MULTILINE)[1])


def test_a_map_shows_who_is_where_and_agrees_with_the_books(root):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(root))
        clients = [stack.enter_context(Client(server.path)) for _ in range(24)]
        found = map_of('--socket', server.path)
        assert found['residentBytes'] == resident_of(server.ctl('stats'))
        for client in clients:
            own = [each for each in found['runs'] if each.get('pid') == client.process.pid]
            assert sum(each['bytes'] for each in own if each['kind'] == 'allocation') == MIB, own
            assert all(each['name'] == 'ctl_client' for each in own), own
        assert len(json.dumps(found)) > 3 * 4096                # of more parts than one
        lines = server.ctl('map', '1').splitlines()
        picture = [line for line in lines if re.fullmatch(r'0x[0-9a-f]{10}  [a-z+.]{64}', line)]
        assert len(picture) == 8 and 'a' in ''.join(line[14:] for line in picture), lines
        assert sum('allocation 0x' in line for line in lines) >= 24 and any(line.endswith(' free') for line in lines), lines
        tables = [line.split()[1:3] for line in lines if line.endswith('  the kernel  page tables')]
        ends = {int(offset, 16) + int(size) for offset, size in tables}
        assert tables and not ends & {int(offset, 16) for offset, _ in tables}, 'neighbours are one line'
        shown = [int(line.split()[2]) for line in lines if re.match(r'[a-z+.]  0x', line)]
        assert sum(shown) == found['sizeBytes'], lines
        for words, status in ((('map', '0'), 1), (('map', '3'), 1), (('map', '99'), 1), (('map', 'x'), 2), (('map',), 2), (('map', '1', 'x'), 2)):
            server.ctl(*words, status=status)


def test_a_map_of_a_program_with_a_kernel_of_its_own(root):
    path = os.path.join(root, 'control')
    program = dxgkd.start_client(CLIENT, DXGK_CONTROL=path)
    found = map_of('--control', path)
    assert sum(each['bytes'] for each in found['runs'] if each['kind'] == 'allocation' and each['process'] == 1) == MIB, found
    assert found['residentBytes'] == resident_of(run(DXGK, 'ctl', '--control', path, 'stats').stdout)
    program.communicate('', timeout=60)
    assert program.returncode == 0


def test_auto_finds_a_server_and_says_when_there_is_none(root):
    with Server(root):
        found = {'XDG_RUNTIME_DIR': root}
        assert run(DXGK, 'ctl', '--socket', 'auto', 'check', settings=found).stdout == 'books: right\n'
    if not os.path.exists('/run/dxgk/dxgk.sock'):
        said = run(DXGK, 'ctl', '--socket', 'auto', 'check', settings=found, status=2).stderr
        assert 'no server listens' in said, said


def test_a_path_where_nobody_listens_is_said(root):
    said = run(DXGK, 'ctl', '--socket', os.path.join(root, 'none'), 'check', status=1).stderr
    assert 'SYS-SERVER' in said and 'No such file' in said, said


def test_processes_are_all_listed(root):
    with Server(root) as server:
        clients = [Client(server.path) for _ in range(40)]
        lines = server.ctl('processes').splitlines()
        pids = [int(re.match(r'process \d+  pid (\d+)  user', line).group(1)) for line in lines]
        assert {client.process.pid for client in clients} <= set(pids), lines
        assert len(pids) == len(set(pids)) == 41, lines      # and dxgk itself, once
        for client in clients:
            client.__exit__(None)


def test_controls_touch_what_others_have(root):
    with Server(root) as server, Client(server.path):
        assert re.search(r'on a residency list\s+1\b', server.ctl('stats'))
        server.ctl('evict-all')
        out = int(re.search(r'went out\s+(\d+)', server.ctl('stats')).group(1))
        assert out >= 1
        assert server.ctl('budget', '16M', 'none').startswith('to trim:')
        assert f' of {16 * 1024} KiB' in server.ctl('processes')
        server.ctl('budget', 'none', 'none')
        assert server.ctl('validate') == 'everything adds up\n'
        assert server.ctl('check') == 'books: right\n'


def test_what_is_about_one_program_is_refused(root):
    with Server(root) as server:
        for words in (('suspend', 'until-resume'), ('resume',), ('restrict', '1M', 'none'), ('walk', '0x1000'),
                      ('sync-evict', 'on'), ('fail-reclaim', 'on'), ('option', 'demote', 'on'), ('option', 'never-defer', 'off')):
            assert 'about one program' in server.ctl(*words, status=1)


def nobody(root):
    """What has a program run as somebody who is nobody's controller."""
    if os.geteuid() != 0 or not shutil.which('setpriv'):
        raise tap.Skip('only root can become somebody else')
    os.chmod(root, 0o755)
    words = ('setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups')
    if subprocess.run([*words, DXGK, '--version'], capture_output=True, check=False).returncode != 0:
        raise tap.Skip('another user cannot start the programs of this build')
    return words


def test_members_of_the_group_connect_and_control(root):
    as_nobody = nobody(root)
    try:
        group = grp.getgrgid(NOBODY).gr_name
    except KeyError as missing:
        raise tap.Skip('nobody has no group here') from missing
    with Server(root, '--group', group) as server:
        assert stat.S_IMODE(os.stat(server.path).st_mode) == 0o660
        assert run(*as_nobody, DXGK, 'ctl', '--socket', server.path, 'check').stdout == 'books: right\n'


def test_who_is_no_controller_is_refused(root):
    as_nobody = nobody(root)
    with Server(root) as server:
        denied = run(*as_nobody, DXGK, 'info', '--socket', server.path, status=1)
        assert 'Permission denied' in denied.stderr, denied
        os.chmod(server.path, 0o666)
        assert 'adapter' in run(*as_nobody, DXGK, 'info', '--socket', server.path).stdout
        for words in (('check',), ('processes',), ('evict-all',), ('stats',)):
            refused = run(*as_nobody, DXGK, 'ctl', '--socket', server.path, *words, status=1)
            assert 'may control it' in refused.stderr, refused
        traced = run(*as_nobody, DXGK, 'trace', '-o', '/dev/null', '--socket', server.path, 'true', status=126)
        assert 'may control it' in traced.stderr, traced
        assert server.ctl('check') == 'books: right\n'


def test_info_shows_the_servers_adapters(root):
    profile = os.path.join(root, 'two.json')
    with open(profile, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'soft', 'name': 'first'}, {'driver': 'soft', 'name': 'second'}]}, file)
    with Server(root, '--profile', profile) as server:
        shown = json.loads(run(DXGK, 'info', '--json', '--socket', server.path).stdout)
        assert [adapter['name'] for adapter in shown['adapters']] == ['first', 'second'], shown


def events_of(path):
    with open(path, encoding='utf-8') as file:
        return [event for event in json.load(file)['traceEvents'] if 'name' in event]


def test_a_running_server_is_traced_while_a_program_runs(root):
    trace = os.path.join(root, 'trace.json')
    with Server(root) as server:
        with Client(server.path):
            pass
        done = run(DXGK, 'trace', '-o', trace, '--socket', server.path, '--', DXGK, 'run', '--quiet',
                   os.path.join(EXAMPLES, 'first_fill.dxgk'))
        assert 'events' in done.stderr, done
        names = {event['name'] for event in events_of(trace)}
        assert 'D3DKMTSubmitCommand' in names and 'process is' in names, sorted(names)
        again = os.path.join(root, 'again.json')
        run(DXGK, 'trace', '-o', again, '--socket', server.path, DXGK, 'info')
        assert not any(event['name'] == 'D3DKMTSubmitCommand' for event in events_of(again))


def arguments_of(events, name):
    return [event['args'] for event in events if event['name'] == name]


def test_a_trace_that_begins_late_says_first_what_there_is(root):
    trace = os.path.join(root, 'trace.json')
    with Server(root) as server, Client(server.path) as first, Client(server.path, 'wait') as second:
        done = run(DXGK, 'trace', '-o', trace, '--socket', server.path, 'true')
        assert done.returncode == 0
        events = events_of(trace)
        begin = [at for at, event in enumerate(events) if event['name'] == 'what there is' and event['ph'] == 'B']
        assert len(begin) == 1 and events[begin[0]]['args'] == {'is_complete': 1}, begin
        there = events[begin[0]:]
        pids = {each['process_id']: each['pid'] for each in arguments_of(there, 'process is')}
        assert {first.process.pid, second.process.pid} <= set(pids.values()), pids
        assert arguments_of(there, 'segment is') and arguments_of(there, 'segment') and arguments_of(there, 'budget')
        kinds = {each['kind'] for each in arguments_of(there, 'queue is')}
        assert 'paging' in kinds, kinds
        owners = {each['allocation_id']: pids[each['process_id']] for each in arguments_of(there, 'allocation')
                  if 'process_id' in each}
        places = {each['allocation_id']: each['place'] for each in arguments_of(there, 'allocation place')}
        assert all(pid in owners.values() for pid in (first.process.pid, second.process.pid)), owners
        resident = {each for each, place in places.items() if place == 'in'}
        assert resident and resident <= set(owners), (places, owners)


def test_a_trace_begins_while_a_call_does_not_end(root):
    trace = os.path.join(root, 'trace.json')
    with Server(root) as server, Client(server.path, 'fill') as filler:
        run(DXGK, 'trace', '-o', trace, '--socket', server.path, 'true')
        events = events_of(trace)
        assert {'is_complete': 0} in arguments_of(events, 'what there is')
        assert filler.process.pid in {each['pid'] for each in arguments_of(events, 'process is')}


def test_a_trace_ends_with_a_signal_and_a_second_one_is_refused(root):
    trace, other = (os.path.join(root, name) for name in ('trace.json', 'other.json'))
    with Server(root) as server:
        tracing = subprocess.Popen([DXGK, 'trace', '-o', trace, '--socket', server.path], env=environment(),
                                   stderr=subprocess.PIPE, text=True)
        assert 'Ctrl-C' in tracing.stderr.readline()
        refused = run(DXGK, 'trace', '-o', other, '--socket', server.path, 'true', status=126)
        assert 'Another controller' in refused.stderr, refused
        assert not os.path.exists(other)
        # Nor is a file emptied for who is refused.
        with open(other, 'w', encoding='ascii') as file:
            file.write('kept')
        run(DXGK, 'trace', '-o', other, '--socket', server.path, 'true', status=126)
        with open(other, encoding='ascii') as file:
            assert file.read() == 'kept'
        with Client(server.path):
            pass
        tracing.send_signal(signal.SIGINT)
        tracing.communicate(timeout=60)
        assert tracing.returncode == 0
        assert any(event['name'] == 'D3DKMTMakeResident' for event in events_of(trace))


def test_a_running_trace_is_not_emptied_by_who_is_refused(root):
    trace = os.path.join(root, 'trace')
    with Server(root) as server:
        tracing = subprocess.Popen([DXGK, 'trace', '-o', trace, '--socket', server.path], env=environment(),
                                   stderr=subprocess.PIPE, text=True)
        assert 'Ctrl-C' in tracing.stderr.readline()
        run(DXGK, 'trace', '-o', trace, '--socket', server.path, 'true', status=126)
        tracing.send_signal(signal.SIGINT)
        said = tracing.communicate(timeout=60)[1]
        assert tracing.returncode == 0 and 'events (' in said, said
        assert run(DXGK, 'view', trace, '--query', 'thrash').stderr == ''


def test_who_is_ended_by_a_signal_leaves_no_server_of_its_own(root):
    scratch = os.path.join(root, 'scratch')
    os.mkdir(scratch)
    for number in (signal.SIGINT, signal.SIGTERM):
        tour = subprocess.Popen([DXGK, 'tour', '--processes', '--quiet', '--frames', '4000'],
                                env=environment(XDG_RUNTIME_DIR=scratch), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 60
        while not [name for folder in os.listdir(scratch) for name in os.listdir(os.path.join(scratch, folder))
                   if name == 'dxgk.sock'] and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(tour.pid, number)                                # as a terminal does, to all of them
        assert tour.wait(timeout=60) == -number
        assert os.listdir(scratch) == [], os.listdir(scratch)


def test_who_traces_a_client_of_a_server_is_told_how(root):
    with Server(root) as server:
        said = run(DXGK, 'trace', '-o', os.path.join(root, 'trace'), '--', DXGK, 'info',
                   settings={'DXGK_SOCKET': server.path}).stderr
        assert f'traced with --socket {server.path}' in said, said


def test_the_trace_of_a_tracer_that_died_is_over(root):
    trace, other = (os.path.join(root, name) for name in ('trace.json', 'other.json'))
    with Server(root) as server:
        tracing = subprocess.Popen([DXGK, 'trace', '-o', trace, '--socket', server.path], env=environment(),
                                   stderr=subprocess.PIPE, text=True)
        assert 'Ctrl-C' in tracing.stderr.readline()
        tracing.kill()
        tracing.communicate()
        deadline = time.monotonic() + 30
        while run_status(DXGK, 'trace', '-o', other, '--socket', server.path, 'true') != 0:
            assert time.monotonic() < deadline
        events_of(trace)


def run_status(*words):
    return subprocess.run(words, env=environment(), capture_output=True, check=False, timeout=60).returncode


def test_a_program_is_traced_with_a_server_of_its_own(root):
    trace = os.path.join(root, 'trace.json')
    run(DXGK, 'trace', '-o', trace, '--with', 'driver', '--server', '--', DXGK, 'run', '--quiet',
        os.path.join(EXAMPLES, 'first_fill.dxgk'), settings={'XDG_RUNTIME_DIR': root})
    names = {event['name'] for event in events_of(trace)}
    assert {'D3DKMTSubmitCommand', 'DxgkDdiStartDevice', 'process is'} <= names, sorted(names)
    assert os.listdir(root) == ['trace.json']


def test_a_trace_tells_what_a_client_calls_its_memory(root):
    trace = os.path.join(root, 'trace')
    for options in ([], ['--server']):
        run(DXGK, 'trace', '-o', trace, *options, '--', CLIENT, text='', settings={'XDG_RUNTIME_DIR': root})
        run(DXGK, 'trace', '-o', trace + '.json', '--convert', trace)
        events = events_of(trace + '.json')
        named = arguments_of(events, 'allocation name')
        assert [each['name'] for each in named] == ['the client\'s "MiB"'], named
        assert named[0]['allocation_id'] in {each['allocation_id'] for each in arguments_of(events, 'allocation')}
        told = run(DXGK, 'why', named[0]['allocation_id'], trace).stdout
        assert 'the client\'s "MiB"' in told, told


# What the driver wrote for page tables, and calls that asked once more, are not the script's.
def results(done):
    lines = [re.sub(r'^\d+ calls; ', '', line) for line in done.stdout.splitlines()]
    return [line for line in lines if '(paging)' not in line]


def test_scripts_give_the_same_with_each_client_as_a_process(root):
    for name in ('destroy_while_busy', 'first_fill', 'hang', 'offer', 'oversubscription', 'page_fault'):
        script = os.path.join(EXAMPLES, name + '.dxgk')
        together = run(DXGK, 'run', script)
        apart = run(DXGK, 'run', '--processes', script, settings={'XDG_RUNTIME_DIR': root})
        assert results(together) == results(apart), (together, apart)
    assert os.listdir(root) == []


SHARED = '''client alice
client bob
context draw alice node 0
context move bob node 1
allocate left alice 64K
allocate right bob 64K
fence made alice shared
open seen bob made
map left
map right
parallel
	resident left
	submit draw fill left 0x11111111
	signal made 1 by draw
and
	resident right
	wait seen 1 by move
	submit move fill right 0x22222222
	wait move
end
wait draw
check left 0x11111111
check right 0x22222222
echo done
'''


def test_clients_that_are_processes_share_fences(root):
    with Server(root) as server:
        done = run(DXGK, 'run', '--quiet', '--processes', '--socket', server.path, '-', text=SHARED)
        assert done.stdout.splitlines() == ['done'], done
        assert server.ctl('check') == 'books: right\n'
        deadline = time.monotonic() + 30                     # the end of a client is the server's to take its time for
        while len(server.ctl('processes').splitlines()) != 1:
            assert time.monotonic() < deadline


def test_an_expectation_that_fails_is_said_as_ever(root):
    text = 'client alice\nallocate x alice 64K\nexpect STATUS_SUCCESS check x 1\necho not reached\n'
    settings = {'XDG_RUNTIME_DIR': root}
    together = run(DXGK, 'run', '--quiet', '-', text=text, status=1)
    apart = run(DXGK, 'run', '--quiet', '--processes', '-', text=text, status=1, settings=settings)
    assert (together.stdout, together.stderr) == (apart.stdout, apart.stderr)


def test_what_processes_cannot_do_is_refused(root):
    with open(os.path.join(EXAMPLES, 'two_clients.dxgk'), encoding='utf-8') as file:
        refused = run(DXGK, 'run', '--processes', '-', text=file.read(), status=2)
    assert "another client's" in refused.stderr, refused
    refused = run(DXGK, 'run', '--processes', '--seed', '1', '-', text='client alice\n', status=2)
    assert 'no seed' in refused.stderr, refused


def test_a_tour_of_processes_finds_every_byte(root):
    done = run(DXGK, 'tour', '--processes', '--frames', '6', settings={'XDG_RUNTIME_DIR': root})
    assert ' 0 wrong bytes' in done.stdout and 'trace and statistics agree' in done.stdout, done
    assert os.listdir(root) == []


def test_a_tour_of_processes_in_a_server_that_is_there(root):
    profile = os.path.join(root, 'small.json')
    with open(profile, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'soft', 'registry': {'LocalMemoryMiB': 32, 'ApertureMiB': 128}}]}, file)
    with Server(root, '--profile', profile) as server, Client(server.path):
        done = run(DXGK, 'tour', '--processes', '--frames', '4', '--socket', server.path)
        assert ' 0 wrong bytes' in done.stdout and 'others use the server' in done.stdout, done
        spoiled = run(DXGK, 'tour', '--processes', '--frames', '4', '--spoil', '--socket', server.path, status=1)
        assert 'not what was written' in spoiled.stderr, spoiled
        assert server.ctl('check') == 'books: right\n'


if __name__ == '__main__':
    tap.run_tests(globals())
