#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live_test.py - dxgk top in a terminal and without one, dxgk metrics in both forms and over HTTP.

usage: live_test.py path-of-dxgk path-of-dxgkd path-of-ctl_client path-of-tools
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import urllib.error
import urllib.request

DXGK, DXGKD, CLIENT = map(os.path.abspath, sys.argv[1:4])
HW_QUEUES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'api', 'hw_queues.json')
sys.path.insert(0, sys.argv[4])
import dxgkd  # noqa: E402
import tap  # noqa: E402
from dxgkd import PATIENCE, environment  # noqa: E402

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.e+]+)')


def run(*words, status=0):
    done = subprocess.run([DXGK, *words], env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, done
    return done


class Server:
    """dxgkd, and a client with a MiB resident."""

    def __init__(self, root, *doing, **settings):
        self.path = os.path.join(root, 'dxgk.sock')
        self.process = dxgkd.start(DXGKD, root, env=environment(**settings))
        try:
            self.client = dxgkd.start_client(CLIENT, *doing, DXGK_SOCKET=self.path)
        except BaseException:
            self.process.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.communicate('', timeout=PATIENCE)
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=PATIENCE) == 0


class Terminal:
    """A program in a terminal of its own; `screen()` is all it has drawn since it was last asked."""

    def __init__(self, rows, columns, *words, kind='xterm'):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            settings = environment(TERM=kind or '', LANG='C.UTF-8')
            if kind is None:
                del settings['TERM']
            os.execve(DXGK, [DXGK, *words], settings)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        self.drawn = ''

    def until(self, words):
        deadline = time.monotonic() + PATIENCE
        while words not in self.drawn:
            assert time.monotonic() < deadline, (words, self.drawn)
            if select.select([self.terminal], [], [], 0.2)[0]:
                self.drawn += os.read(self.terminal, 65536).decode('utf-8', 'replace')
        found, self.drawn = self.drawn, ''
        return found

    def type(self, keys):
        self.drawn = ''
        os.write(self.terminal, keys.encode())

    def end(self):
        """Its exit status."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.05)[0]:
                try:
                    os.read(self.terminal, 65536)
                except OSError:
                    pass
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                os.close(self.terminal)
                return os.waitstatus_to_exitcode(status)
        raise AssertionError('it does not end')


def samples(text):
    found = {}
    for line in text.splitlines():
        if line.startswith('#'):
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        found[(match[1], match[2] or '')] = float(match[3])
    return found


def test_a_screen_of_80_by_24_and_one_of_200_by_60(root):
    with Server(root) as server:
        for rows, columns in ((24, 80), (60, 200)):
            top = Terminal(rows, columns, 'top', '--socket', server.path, '-d', '0.2')
            drawn = top.until('q end')                       # the last line of the screen
            if 'ctl_client' not in drawn:
                drawn += top.until('ctl_client')
            assert 'segment 1' in drawn and 'node 0' in drawn, drawn
            for whole in (r'refused [0-9.]+/s', r'gap \d+ MiB', r'paging \d+/s'):
                assert re.search(whole, drawn), (columns, whole, drawn)
            top.type('q')
            assert top.end() == 0


def test_keys_order_filter_freeze_expand_and_ask_before_they_evict(root):
    with Server(root) as server:
        top = Terminal(30, 120, 'top', '--socket', server.path, '-d', '0.2')
        top.until('ctl_client')
        top.type('\n')
        expanded = top.until('allocation 0x')
        assert 'class normal' in expanded and 'device 0x' in expanded, expanded
        for order in 'MPImspn':
            top.type(order)
        top.type(' ')
        top.until('frozen')
        top.type(' ')
        top.until('freeze')
        top.type('/')
        top.until('only')
        top.type('nobody-is-called-so\n')
        time.sleep(1)
        top.type('/')
        top.until('only')
        top.type('\n')
        top.until('ctl_client')
        for answer, said in (('n\n', 'freeze'), ('y\n', 'has left GPU memory')):
            top.type('e')
            top.until('[y/N]')
            top.type(answer)
            top.until(said)
        top.type('b')
        top.until('local memory than')
        top.type('nonsense\n')
        top.until('is no size')
        top.type('q')
        assert top.end() == 0


def test_escape_leaves_a_question_and_a_typing_mistake_is_taken_back(root):
    with Server(root) as server:
        top = Terminal(24, 80, 'top', '--socket', server.path, '-d', '0.2')
        top.until('ctl_client')
        for key, question in (('e', 'evict everything'), ('b', 'nobody is granted'), ('/', 'only')):
            top.type(key)
            top.until(question)
            top.type('\x1b')
            top.until('freeze')
        top.type('b')
        top.until('nobody is granted')
        top.type('12x\x7f\x08\x7f\x7f\x7f\x7f')
        top.type('no sizé\x7f!\n')
        top.until('is no size')
        top.type('b')
        top.until('nobody is granted')
        top.type('12582912é\x7fy\x7f\n')
        top.until('is that meant')
        top.type('y\n')
        top.until('set')
        top.type('q')
        assert top.end() == 0
        client, = json.loads(run('top', '--json', '-n', '1', '--socket', server.path).stdout)['processes']
        assert 12582912 in client.values(), client


def test_a_terminal_without_a_screen_gets_lines(root):
    with Server(root) as server:
        for kind in ('dumb', None, 'nothing-of-that-name'):
            top = Terminal(24, 80, 'top', '--socket', server.path, '-n', '1', kind=kind)
            drawn = top.until('ctl_client')
            assert '\x1b' not in drawn and 'segment 1' in drawn, drawn
            assert top.end() == 0, kind


def test_the_chosen_one_is_in_sight_among_fifty(root):
    with Server(root) as server:
        crowd = [dxgkd.start_client(CLIENT, DXGK_SOCKET=server.path) for _ in range(50)]
        top = Terminal(24, 80, 'top', '--socket', server.path, '-d', '0.2')
        top.until('ctl_client')
        top.type('p')
        last = str(max(client.pid for client in crowd))
        top.type('\x1bOB' * 60)
        top.until(last)
        top.type('\n')
        top.until('offered')
        top.type('\n' + '\x1bOA' * 60)
        top.until(str(min([client.pid for client in crowd] + [server.client.pid])))
        top.type('q')
        assert top.end() == 0
        for client in crowd:
            client.communicate('', timeout=PATIENCE)


def test_lines_and_json_where_there_is_no_terminal(root):
    with Server(root) as server:
        lines = run('top', '--socket', server.path, '-n', '1').stdout
        assert 'ctl_client' in lines and '\x1b' not in lines, lines
        first, second = map(json.loads, run('top', '--json', '-n', '2', '-d', '0.1', '--socket', server.path).stdout.splitlines())
        assert [process['name'] for process in second['processes']] == ['ctl_client'], second
        assert second['segments'][0]['residentBytes'] >= 1 << 20
        client = second['processes'][0]
        assert client['movedInBytes'] >= 1 << 20 and client['state'] == 'active', client
        assert client['residentAllocations'] >= 1 and client['busyNs'] >= 0 and client['queued'] == 0, client
        assert first['segments'][0]['sizeBytes'] == second['segments'][0]['sizeBytes']


def test_hardware_queues_are_shown(root):
    with Server(root, 'queue', DXGK_PROFILE=HW_QUEUES) as server:
        now = json.loads(run('top', '--json', '-n', '1', '--socket', server.path).stdout)
        assert [node['hardwareQueues'] for node in now['nodes']][0] == 1, now
        assert '1 hwq' in run('top', '-n', '1', '--socket', server.path).stdout
        top = Terminal(24, 80, 'top', '--socket', server.path, '-d', '0.2')
        assert '1 hwq' in top.until('ctl_client')
        top.type('\n')
        top.until('hardware queue 0x')
        top.type('q')
        assert top.end() == 0


def test_a_server_that_goes_ends_the_screen(root):
    with Server(root) as server:
        top = Terminal(24, 80, 'top', '--socket', server.path, '-d', '0.2')
        top.until('ctl_client')
        server.client.communicate('', timeout=PATIENCE)
        server.process.send_signal(signal.SIGTERM)
        assert top.end() == 1


def test_nonsense_is_refused(root):
    nobody = os.path.join(root, 'nobody.sock')
    run('top', '--socket', nobody, '-n', '1', status=1)
    for words in (('top', '-n', '0'), ('top', '-n', 'x'), ('top', '-d', '0'), ('top', 'extra'), ('top', '--no-such'),
                  ('metrics', 'extra'), ('metrics', '--listen', 'x'), ('metrics', '--listen', '0.0.0.0:9400'),
                  ('metrics', '--listen', '127.0.0.1:99999'), ('top', '--adapter', '7')):
        run(words[0], '--socket', nobody, *words[1:], status=2)


def test_a_refusal_names_the_command(root):
    with Server(root) as server:
        for words in (('ctl', 'stats'), ('ctl', 'map', '1'), ('top', '-n', '1'), ('metrics',)):
            said = run(words[0], '--socket', server.path, '--adapter', '00000000:000000ff', *words[1:], status=1).stderr
            assert said.startswith(f'dxgk {words[0]}: ') and 'STATUS_' in said, said


def test_metrics_agree_with_the_statistics(root):
    with Server(root) as server:
        run('ctl', '--socket', server.path, 'budget', 'x', 'y', status=2)
        text = run('metrics', '--per-process', '--socket', server.path).stdout
        found = samples(text)
        stats = run('ctl', '--socket', server.path, 'stats').stdout
        resident = int(re.search(r'^segment 1\n.*\n +resident +(\d+) bytes', stats, re.MULTILINE)[1])
        assert found[('dxgk_segment_resident_bytes', 'adapter="1",segment="1",kind="memory"')] == resident
        assert any(name == 'dxgk_process_used_bytes' and 'ctl_client' in labels and value >= 1 << 20
                   for (name, labels), value in found.items()), text
        assert found[('dxgk_segment_largest_free_bytes', 'adapter="1",segment="1",kind="memory"')] > 0
        assert found[('dxgk_queue_packets', 'adapter="1",node="0"')] == 0
        assert found[('dxgk_evictions_total', 'adapter="1",reason="room-for"')] == 0
        run('ctl', '--socket', server.path, 'evict-all')
        again = samples(run('metrics', '--per-process', '--socket', server.path).stdout)
        assert again[('dxgk_evictions_total', 'adapter="1",reason="control"')] >= 1, again
        moved = {name: value for (name, labels), value in again.items() if 'ctl_client' in labels}
        assert moved['dxgk_process_paging_in_bytes_total'] >= 1 << 20, moved
        assert moved['dxgk_process_paging_out_bytes_total'] >= 1 << 20 and 'dxgk_process_busy_seconds_total' in moved, moved
        families = re.findall(r'^# TYPE (\S+)', text, re.MULTILINE)
        assert len(families) == len(set(families)) and 'dxgk_refusals_total' in families


def test_what_moves_within_a_segment_is_counted(root):
    def within(name):
        return samples(run('metrics', '--socket', server.path).stdout)[(name, 'adapter="1",direction="within"')]
    with Server(root) as server:
        with dxgkd.start_client(CLIENT, DXGK_SOCKET=server.path) as behind:
            assert within('dxgk_paging_bytes_total') == 0
            server.client.communicate('', timeout=PATIENCE)
            run('ctl', '--socket', server.path, 'defrag', '1')
            assert within('dxgk_paging_bytes_total') >= 1 << 20 and within('dxgk_paging_moves_total') >= 1
            behind.communicate('', timeout=PATIENCE)


def test_metrics_count_calls_deaths_and_quotas(root):
    with Server(root) as server:
        found = samples(run('metrics', '--socket', server.path).stdout)
        made = found[('dxgk_calls_total', 'call="D3DKMTCreateDevice",result="success"')]
        assert made >= 1, found
        assert found[('dxgk_calls_total', 'call="D3DKMTCreateDevice",result="failure"')] == 0
        steps = [value for (name, labels), value in found.items()
                 if name == 'dxgk_call_seconds_bucket' and 'D3DKMTCreateDevice' in labels]
        assert len(steps) == 11 and steps == sorted(steps) and steps[-1] == made, steps
        assert found[('dxgk_call_seconds_count', 'call="D3DKMTCreateDevice"')] == made
        assert found[('dxgk_call_seconds_sum', 'call="D3DKMTCreateDevice"')] > 0
        adapter, = (labels for name, labels in found if name == 'dxgk_adapter_info')
        assert re.fullmatch(r'adapter="1",wddm="[23]\.[0-9]",driver="soft.so"', adapter), adapter
        assert found[('dxgk_client_deaths_total', '')] == 0
        assert found[('dxgk_ring_sleeps_total', '')] >= 1 and ('dxgk_ring_wakes_total', '') in found, found
        server.client.kill()
        server.client.wait()
        deadline = time.monotonic() + PATIENCE
        while samples(run('metrics', '--socket', server.path).stdout)[('dxgk_client_deaths_total', '')] != 1:
            assert time.monotonic() < deadline


def test_resets_are_counted_by_kind_and_paging_by_time(root):
    with Server(root) as server:
        before = samples(run('metrics', '--socket', server.path).stdout)
        resets = {kind: before[('dxgk_resets_total', f'adapter="1",kind="{kind}"')] for kind in ('engine', 'hw-queues', 'adapter')}
        assert set(resets.values()) == {0}, resets
        jobs = before[('dxgk_paging_seconds_count', 'adapter="1"')]
        steps = [value for (name, labels), value in before.items() if name == 'dxgk_paging_seconds_bucket']
        assert jobs >= 1 and len(steps) == 11 and steps == sorted(steps) and steps[-1] == jobs, steps
        assert before[('dxgk_paging_seconds_sum', 'adapter="1"')] > 0
        run('ctl', '--socket', server.path, 'evict-all')
        run('ctl', '--socket', server.path, 'tdr', 'adapter')
        found = samples(run('metrics', '--socket', server.path).stdout)
        assert found[('dxgk_paging_seconds_count', 'adapter="1"')] > jobs
        assert found[('dxgk_resets_total', 'adapter="1",kind="adapter"')] == 1
        assert found[('dxgk_resets_total', 'adapter="1",kind="engine"')] == 0
        assert found[('dxgk_recoveries_total', 'adapter="1"')] == 1


def profile(root, **content):
    path = os.path.join(root, 'profile.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(content, file)
    return path


def test_a_refusal_by_a_quota_is_counted(root):
    limits = {'user': {'allocations': 1}}
    with Server(root, DXGK_PROFILE=profile(root, adapters=[{'driver': 'soft', 'name': 'Soft'}], limits=limits)) as server:
        before = samples(run('metrics', '--socket', server.path).stdout)
        assert before[('dxgk_clients', '')] == 1 and not [name for name, _ in before if 'quota' in name], before
        second = subprocess.run([CLIENT], env=environment(DXGK_SOCKET=server.path), stdin=subprocess.DEVNULL, capture_output=True,
                                check=False, timeout=PATIENCE)
        assert second.returncode == 1, second
        found = samples(run('metrics', '--socket', server.path).stdout)
        assert found[('dxgk_quota_refusals_total', 'quota="allocations"')] == 1, found
        assert found[('dxgk_refusals_total', 'rule="SYS-QUOTA"')] >= 1, found


def test_openmetrics_ends_with_its_end(root):
    with Server(root) as server:
        text = run('metrics', '--openmetrics', '--socket', server.path).stdout
        assert text.endswith('# EOF\n')
        for family, kind in re.findall(r'^# TYPE (\S+) (\S+)', text, re.MULTILINE):
            assert not (kind == 'counter' and family.endswith('_total')), family
        samples(text)


def test_a_scrape_over_http(root):
    with Server(root) as server:
        exporter = subprocess.Popen([DXGK, 'metrics', '--listen', '127.0.0.1:0', '--socket', server.path], env=environment(),
                                    stdout=subprocess.PIPE, text=True)
        address = exporter.stdout.readline().strip()
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            assert answer.headers['Content-Type'].startswith('text/plain; version=0.0.4')
            samples(answer.read().decode())
        wish = urllib.request.Request(address, headers={'Accept': 'application/openmetrics-text; version=1.0.0'})
        with urllib.request.urlopen(wish, timeout=PATIENCE) as answer:
            assert answer.headers['Content-Type'].startswith('application/openmetrics-text')
            assert answer.read().decode().endswith('# EOF\n')
        for path, data, status in (('/other', None, 404), ('/metrics', b'x', 405)):
            try:
                urllib.request.urlopen(address.replace('/metrics', path), data=data, timeout=PATIENCE)
                raise AssertionError(path)
            except urllib.error.HTTPError as refused:
                assert refused.code == status
        exporter.send_signal(signal.SIGTERM)
        assert exporter.wait(timeout=PATIENCE) == 0


def test_who_is_scraped_outlives_its_server_and_does_not_keep_it(root):
    path = os.path.join(root, 'dxgk.sock')
    exporter = subprocess.Popen([DXGK, 'metrics', '--listen', '127.0.0.1:0', '--socket', path], env=environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def scrape():
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                return any(name == 'dxgk_segment_size_bytes' for name, _ in samples(answer.read().decode()))
        except urllib.error.HTTPError as refused:
            assert refused.code == 503
            return False
    try:
        address = exporter.stdout.readline().strip()
        assert not scrape()                                      # nobody is there yet
        server = dxgkd.start(DXGKD, root, '--idle-exit', '0.3')
        assert scrape() and server.wait(timeout=PATIENCE) == 0 and not scrape()
        server = dxgkd.start(DXGKD, root)
        assert scrape() and scrape()
        server.kill()
        server.wait()
        assert not scrape()
        server = dxgkd.start(DXGKD, root)
        assert scrape()
        server.terminate()
        assert server.wait(timeout=PATIENCE) == 0
    finally:
        exporter.terminate()
        assert exporter.wait(timeout=PATIENCE) == 0


def test_promtool_is_content(root):
    if not shutil.which('promtool'):
        raise tap.Skip('promtool (package prometheus) is not installed')
    with Server(root) as server:
        text = run('metrics', '--per-process', '--socket', server.path).stdout
        done = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done


if __name__ == '__main__':
    tap.run_tests(globals())
