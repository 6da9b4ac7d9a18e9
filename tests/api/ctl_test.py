#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ctl_test.py - dxgk ctl and the socket behind it: what it does to a running program, and what it
makes of nonsense.

usage: ctl_test.py path-of-dxgk path-of-tools path-of-ctl_client
"""

import os
import re
import socket
import stat
import struct
import subprocess
import sys

DXGK = sys.argv[1]
CLIENT = sys.argv[3]
sys.path.insert(0, sys.argv[2])
import tap  # noqa: E402

MAGIC, VERSION = 0x4c544344, 1
REQUEST = struct.Struct('=IIIIQII')
REPLY = struct.Struct('=IIiI32s256s')
INVALID_PARAMETER = -0x3ffffff3       # 0xC000000D
MIB = 1 << 20


class Client:
    """A program with a MiB resident; says what it has, and ends when its input does."""

    def __init__(self, root, **settings):
        self.path = os.path.join(root, 'control')
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
        environment.update({'DXGK_CONTROL': self.path, **settings})
        self.process = subprocess.Popen([CLIENT], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().split()
        assert line and line[0] == 'ready', self.process.stderr.read()
        self.address, self.queue = line[1], line[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()

    def end(self):
        _, said = self.process.communicate('', timeout=60)
        assert self.process.returncode == 0, (self.process.returncode, said)
        return said

    def ctl(self, *arguments, status=0):
        done = subprocess.run([DXGK, 'ctl', '--socket', self.path, *arguments],
                              capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == status, (arguments, done)
        return done.stdout if status == 0 else done.stderr

    def raw(self, *parts):
        """What comes back when these bytes are sent, until the other side closes."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(30)
            link.connect(self.path)
            for part in parts:
                link.sendall(part)
            got = b''
            try:
                while True:
                    more = link.recv(65536)
                    if not more:
                        return got
                    got += more
            except ConnectionResetError:
                return got


def request(kind=1, size=0, luid=0, kind_type=1, reserved=0, magic=MAGIC, version=VERSION):
    return REQUEST.pack(magic, version, kind, size, luid, kind_type, reserved)


def refusal(answer):
    magic, version, status, size, rule, reason = REPLY.unpack(answer[:REPLY.size])
    assert (magic, version) == (MAGIC, VERSION) and len(answer) == REPLY.size + size
    return status, rule.rstrip(b'\0').decode(), reason.rstrip(b'\0').decode()


def count(stats, section, name):
    part = stats.split(section + '\n')[1].split('\n')
    for line in part:
        found = re.match(r'  (?:… )?' + name + r'\s+(\d+)', line.replace('… ', ''))
        if found:
            return int(found.group(1))
    raise AssertionError((section, name, stats))


def test_the_socket_is_its_users_alone_and_goes_with_the_program(root):
    with Client(root) as client:
        assert stat.S_IMODE(os.stat(client.path).st_mode) == 0o600
        client.end()
        assert not os.path.exists(client.path)


def test_stats_count_what_the_program_has(root):
    with Client(root) as client:
        stats = client.ctl('stats')
        assert count(stats, 'adapter', 'segments') == 2, stats
        assert count(stats, 'process, local memory', 'has resident') == MIB, stats
        assert count(stats, 'segment 1', 'on a residency list') == 1, stats


def test_processes_are_named(root):
    with Client(root) as client:
        lines = client.ctl('processes').splitlines()
        assert len(lines) == 1, lines
        words = lines[0].split()
        assert words[:3] == ['process', '1', 'pid'] and words[4] == 'user', lines
        assert int(words[3]) == client.process.pid, lines
        assert int(words[5]) == os.getuid(), lines
        assert 'local' in words and 'system' in words, lines
        assert '(controller)  class normal  handles ' in lines[0], lines
        assert re.search(r'  memory \d+ KiB  ', lines[0]), lines


def test_check_finds_the_books_right(root):
    with Client(root) as client:
        assert client.ctl('check') == 'books: right\n'
        client.ctl('evict-all')
        assert client.ctl('check') == 'books: right\n'


def test_states_are_counted_and_say_what_may_follow(root):
    with Client(root) as client:
        states = client.ctl('states')
        assert "place\n       0 out -> entering\n       0 entering -> out, in\n       1 in -> " in states, states
        assert '  1 open -> held, ending' in states, states
        assert "page tables\n       1 in -> leaving\n" in states, states
        assert states.endswith('entering -> in, out\n'), states


def test_evict_all_moves_what_there_is(root):
    with Client(root) as client:
        before = count(client.ctl('stats'), 'segment 1', 'evicted so far')
        client.ctl('evict-all')
        assert count(client.ctl('stats'), 'segment 1', 'evicted so far') == before + MIB
        client.ctl('evict', '2M', '0')
        assert count(client.ctl('stats'), 'segment 1', 'evicted so far') == before + MIB
        client.ctl('evict', '1M', '1M')
        assert count(client.ctl('stats'), 'segment 1', 'evicted so far') == before + 2 * MIB


def test_a_budget_is_set_and_taken_away(root):
    with Client(root) as client:
        assert client.ctl('budget', '64K', 'none') == f'to trim: {MIB - 65536} bytes\n'
        assert count(client.ctl('stats'), 'process, local memory', 'budget') == 65536
        assert client.ctl('budget', 'none', 'none') == 'to trim: 0 bytes\n'


def test_the_other_controls_answer(root):
    with Client(root) as client:
        assert client.ctl('validate') == 'everything adds up\n'
        for verb in ('defrag', 'defrag-up', 'verify-transfer'):
            assert 'the largest gap was' in client.ctl(verb, '1')
        assert 'paging fence value' in client.ctl('delay', client.queue, '1')
        for words in (['offers', 'always'], ['offers', 'never'], ['offers', 'default'],
                      ['sync-evict', 'on'], ['sync-evict', 'off'], ['fail-reclaim', 'on'],
                      ['fail-reclaim', 'off'], ['wake'], ['intervals', '1', '2', 'none']):
            assert client.ctl(*words) == ''
        assert 'MaximumTrimInterval is 10000' in client.ctl('intervals', '2', '1', '1', status=1)


def test_each_option_is_set_and_has_its_effect(root):
    with Client(root) as client:
        for name in ('always-decommit', 'no-demotion', 'never-move', 'fail-defrag', 'never-defer',
                     'demote'):
            assert client.ctl('option', name, 'on') == ''
        assert 'FailDefragPass' in client.ctl('defrag', '1', status=1)
        for name in ('fail-defrag', 'never-move', 'never-defer', 'demote', 'no-demotion',
                     'always-decommit'):
            assert client.ctl('option', name, 'off') == ''
        assert 'the largest gap was' in client.ctl('defrag', '1')


def test_a_program_is_restricted_alone(root):
    with Client(root) as client:
        client.ctl('restrict', '64K', 'none')
        assert count(client.ctl('stats'), 'process, local memory', 'budget') == 65536
        client.ctl('restrict', 'none', 'none')
        assert count(client.ctl('stats'), 'process, local memory', 'budget') > MIB


def test_a_program_is_suspended_and_goes_on(root):
    with Client(root) as client:
        before = count(client.ctl('stats'), 'segment 1', 'evicted so far')
        client.ctl('suspend', 'until-resume')
        assert count(client.ctl('stats'), 'segment 1', 'evicted so far') == before + MIB
        assert 'MM-CONTROL' in client.ctl('suspend', 'until-work', status=1)
        client.ctl('resume')
        assert 'is not suspended' in client.ctl('resume', status=1)
        # It ends as others do.
        client.ctl('suspend', 'until-work')
        client.end()


def test_walk_prints_each_level_and_where_it_ends(root):
    with Client(root) as client:
        said = client.ctl('walk', client.address).splitlines()
        assert re.match(r'address 0x[0-9a-f]+, \d levels', said[0]), said
        levels = int(said[0].split()[2])
        assert len(said) == levels + 2, said
        for at, line in enumerate(said[1:-1]):
            kind = 'page' if at == levels - 1 else 'table'
            assert re.match(rf'  level {levels - 1 - at}  index +\d+  {kind} of segment \d+ at 0x',
                            line), line
        assert said[-1].startswith('ends at level 0: in its segment at 0x'), said
        assert 'nothing is there' in client.ctl('walk', '0x400000000000')
        assert 'addresses have 48 bits' in client.ctl('walk', '0x1000000000000', status=1)


def test_walk_finds_pages_of_64_kib(root):
    for pages in ('single', 'dual'):
        profile = os.path.join(root, pages + '.json')
        with open(profile, 'w', encoding='utf-8') as file:
            file.write('{"adapters": [{"driver": "soft", "name": "soft", "registry": '
                       f'{{"Pages64KiB": "{pages}"}}}}]}}')
        with Client(root, DXGK_PROFILE=profile) as client:
            address = int(client.address, 16)
            assert address % 0x10000 == 0, client.address
            said = client.ctl('walk', hex(address + 0x12345)).splitlines()
            above = 'table of 64 KiB pages of' if pages == 'single' else 'table of'
            assert re.match(rf'  level 1  index +\d+  {above} segment 1 at 0x', said[-3]), said
            assert re.match(r'  level 0  index +\d+  page of 64 KiB of segment 1 at 0x', said[-2]), said
            where = re.match(r'ends at level 0: in its segment at 0x[0-9a-f]+2345$', said[-1])
            assert where, said


def test_tdr_resets_and_is_counted(root):
    with Client(root) as client:
        client.ctl('tdr', 'adapter')
        assert count(client.ctl('stats'), 'adapter', 'recoveries') == 1
        assert 'NodeOrdinal' in client.ctl('tdr', '63', status=1)


def test_a_refusal_is_printed_with_its_reason(root):
    with Client(root) as client:
        said = client.ctl('defrag', '9', status=1)
        assert 'Defrag.SegmentId is 9' in said and 'API-VALUE' in said, said
        said = client.ctl('delay', client.queue, '60001', status=1)
        assert 'DelayExecution.Milliseconds is 60001' in said, said
        said = client.ctl('--adapter', '00000000:0000ffff', 'validate', status=1)
        assert 'AdapterLuid' in said, said


def test_wrong_usage_is_said(root):
    with Client(root) as client:
        for words in ([], ['nonsense'], ['evict', '1'], ['evict', '1', 'x'], ['offers', 'x'],
                      ['sync-evict', 'x'], ['option', 'x', 'on'], ['option', 'demote', 'x'],
                      ['option', 'never-move', 'x'], ['suspend', 'x'], ['restrict', 'x', '0'],
                      ['intervals', '1', '1', 'x'], ['budget', '-1', '0'], ['walk', 'x'], ['tdr', 'x'],
                      ['--adapter', 'x', 'stats'], ['stats', 'more'], ['delay', '1', '99999999999'],
                      ['evict', '99999999999999G', '0']):
            assert client.ctl(*words, status=2) != '', words
    done = subprocess.run([DXGK, 'ctl', '--help'], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and 'walk ADDRESS' in done.stdout


def test_a_socket_that_is_not_there_is_said(root):
    for path in (os.path.join(root, 'none'), 'x' * 200):
        done = subprocess.run([DXGK, 'ctl', '--socket', path, 'stats'], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 1 and path in done.stderr, done


def test_nonsense_is_refused_and_the_next_request_is_served(root):
    with Client(root) as client:
        for bytes_sent, word in ((request(magic=1), 'no control request'),
                                 (request(version=2), 'version'),
                                 (request(size=4097), 'larger'),
                                 (request(size=0xffffffff), 'larger'),
                                 (request(kind=6), 'neither'),
                                 (request(kind=0), 'neither'),
                                 (request(reserved=1), 'reserved'),
                                 (request(kind=2, kind_type=1), 'reserved'),
                                 (request(kind=2, kind_type=0, size=8) + bytes(8), 'QUERYSTATIST'),
                                 (request(kind=3, kind_type=0, size=8) + bytes(8), 'no room'),
                                 (request(kind=4, kind_type=0, size=8) + bytes(8), 'no room')):
            status, _, reason = refusal(client.raw(bytes_sent))
            assert status == INVALID_PARAMETER and word in reason, (bytes_sent, status, reason)
        status, rule, _ = refusal(client.raw(request(kind_type=1, size=8) + bytes(8)))
        assert (status, rule) == (INVALID_PARAMETER, 'API-BUFFER')
        status, rule, _ = refusal(client.raw(request(kind_type=77, size=8) + bytes(8)))
        assert rule == 'API-NOT-BUILT', (status, rule)
        assert client.raw(b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n') != b''
        assert client.ctl('validate') == 'everything adds up\n'


def test_a_message_in_pieces_is_served(root):
    with Client(root) as client:
        body = struct.pack('=I', 17) + bytes(1084)
        whole = request(kind_type=1, size=len(body)) + body
        answer = client.raw(*(whole[at:at + 50] for at in range(0, len(whole), 50)))
        assert refusal(answer)[0] == 0 and len(answer) == REPLY.size + len(body)


def test_half_a_message_keeps_nobody_waiting_for_long(root):
    with Client(root) as client:
        links = []
        for part in (b'', b'DC', request(size=100), request(size=100) + bytes(50)):
            link = socket.socket(socket.AF_UNIX)
            link.connect(client.path)
            link.sendall(part)
            links.append(link)
        assert client.ctl('validate') == 'everything adds up\n'
        for link in links:
            link.close()


def test_half_a_message_does_not_hold_up_the_end_of_the_program(root):
    with Client(root) as client:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(client.path)
            link.sendall(request(size=100))
            client.end()


def test_a_socket_left_behind_is_taken_over_and_a_live_one_is_not(root):
    path = os.path.join(root, 'control')
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    with Client(root) as client:
        assert client.ctl('validate') == 'everything adds up\n'
        with Client(root) as second:
            assert 'DXGK_CONTROL' in second.end()
        assert client.ctl('validate') == 'everything adds up\n'


def test_a_path_that_cannot_be_is_said_and_the_program_runs(root):
    with Client(root, DXGK_CONTROL='/no/such/folder/socket') as client:
        assert 'DXGK_CONTROL: /no/such/folder/socket' in client.end()
    with Client(root, DXGK_SEED='1') as client:
        assert 'simulated' in client.end()


def test_a_program_without_the_variable_has_no_socket(root):
    with Client(root, DXGK_CONTROL='') as client:
        assert client.end() == ''
        assert not os.path.exists(client.path)


if __name__ == '__main__':
    tap.run_tests(globals())
