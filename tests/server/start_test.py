#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""start_test.py - where a server listens, who may connect, how it starts and ends.

usage: start_test.py dxgkd client path-of-late_lock.so path-of-tools dlopen-client folder-of-the-library

The client prints what its adapters are and ends (dxgk info).
"""

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

DXGKD, CLIENT, LATE_LOCK = sys.argv[1:4]
DLOPEN_CLIENT, LIBRARY = sys.argv[5:7]
sys.path.insert(0, sys.argv[4])
import tap  # noqa: E402

PATIENCE_S = 60


class Server:
    """One dxgkd, which is killed at the end whatever happened."""

    def __init__(self, folder, *options, path=None, files=(), before=None, **settings):
        self.path = path or os.path.join(folder, 'dxgk.sock')
        self.notify = os.path.join(folder, f'notify-{id(self)}')
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.bind(self.notify)
        self.told.settimeout(PATIENCE_S)
        options = list(options) if files else ['--socket', self.path, *options]
        environment = {**os.environ, 'NOTIFY_SOCKET': self.notify, **settings}
        prepare = before
        if files:
            def prepare():
                os.dup2(files[0], 3)
            # LISTEN_PID is known in the child only: a shell sets it and becomes the server.
            command = ['sh', '-c', 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', 'sh', DXGKD, *options]
        else:
            command = [DXGKD, *options]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        pass_fds=(3,) if files else (), preexec_fn=prepare, text=True)

    def await_word(self, word):
        try:
            while word not in self.told.recv(256).decode():
                pass
            return True
        except socket.timeout:
            return False

    def end(self, sign=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sign)
        return self.result()

    def result(self):
        """Exit status and what it said."""
        try:
            said = self.process.communicate(timeout=PATIENCE_S)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            said = self.process.communicate()[1] + 'did not end'
        return self.process.returncode, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.told.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.notify)


def client(where, **settings):
    """Exit status and output of a client with DXGK_SOCKET=where."""
    environment = {**os.environ, 'DXGK_SOCKET': where, **settings}
    done = subprocess.run([CLIENT, 'info'], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout


def ready_server(folder, *options, **settings):
    """A server that listens by now."""
    server = Server(folder, *options, **settings)
    if not server.await_word('READY=1'):
        with server:
            raise AssertionError(f'dxgkd does not start: {server.end(signal.SIGKILL)}')
    return server


def profile_in(folder, text):
    path = os.path.join(folder, 'profile.json')
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)
    return path


def expect(problems, condition, what):
    if not condition:
        problems.append(what)


def serves(folder):
    problems = []
    with ready_server(folder) as server:
        status, said = client(server.path)
        expect(problems, status == 0 and 'Soft GPU' in said, f'a client: {status}, {said}')
        mode = stat.S_IMODE(os.stat(server.path).st_mode)
        expect(problems, mode == 0o600, f'the mode of the socket is {mode:o}')
        ended, said = server.end()
        expect(problems, ended == 0, f'ended with {ended}: {said}')
        expect(problems, server.await_word('STOPPING=1'), 'does not say STOPPING=1')
        expect(problems, not os.path.exists(server.path), 'its socket is left')
        expect(problems, not os.path.exists(server.path + '.lock'), 'its lock is left')
    return problems


def second_is_refused(folder):
    problems = []
    with ready_server(folder) as first:
        with Server(folder) as second:
            ended, said = second.result()
            expect(problems, ended == 1 and 'another server has it' in said, f'{ended}: {said}')
        expect(problems, os.path.exists(first.path + '.lock'), 'who was refused took the lock of who was not')
        status, said = client(first.path)
        expect(problems, status == 0, f'the first one serves no more: {said}')
    return problems


def dead_one_is_followed(folder):
    problems = []
    with ready_server(folder) as first:
        first.end(signal.SIGKILL)
        expect(problems, os.path.exists(first.path), 'the socket of who was killed is gone')
    with ready_server(folder) as second:
        status, said = client(second.path)
        expect(problems, status == 0, said)
        second.end()
        expect(problems, not os.path.exists(second.path + '.lock'), 'the lock of who was killed is left')
    return problems


def lock_has_a_name(folder):
    """Who opened the lock of a server that ends then locks a file that nobody else finds, and does not go by it."""
    problems = []
    lock = os.path.join(folder, 'dxgk.sock.lock')
    with ready_server(folder, LD_PRELOAD=LATE_LOCK, TEST_LATE_LOCK=lock) as first:
        expect(problems, os.path.exists(lock), 'its lock is a file without a name')
        with Server(folder) as second:
            ended, said = second.result()
            expect(problems, ended == 1 and 'another server has it' in said, f'{ended}: {said}')
    return problems


def only_its_own_is_removed(folder):
    """Somebody has removed the files of a server that still runs, and started another one there."""
    problems = []
    with Server(folder) as first:
        expect(problems, first.await_word('READY=1'), 'the first does not start')
        os.unlink(first.path)
        os.unlink(first.path + '.lock')
        with Server(folder) as second:
            expect(problems, second.await_word('READY=1'), 'the second does not start')
            ended, said = first.end()
            expect(problems, ended == 0, f'the first ended with {ended}: {said}')
            status, said = client(second.path)
            expect(problems, status == 0, f'a client of the second: {status}, {said}')
            with Server(folder) as third:
                ended, said = third.result()
                expect(problems, ended == 1 and 'another server has it' in said, f'a third: {ended}, {said}')
            ended, said = second.end()
            expect(problems, ended == 0 and not os.path.exists(second.path), f'the second ended with {ended}: {said}')
    return problems


def strange_paths_are_refused(folder):
    problems = []
    there = os.path.join(folder, 'a-file')
    with open(there, 'w', encoding='ascii') as file:
        file.write('kept')
    for path, reason in ((there, 'is no socket'), ('relative.sock', 'must begin with /'),
                         ('/' + 'x' * 200, 'longer than'), (folder + '/no/such/folder', 'No such file')):
        with Server(folder, path=path) as server:
            ended, said = server.result()
            expect(problems, ended == 1 and reason in said, f'{path}: {ended}, {said}')
        expect(problems, not os.path.exists(path + '.lock'), f'{path}: its lock is left')
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
        path = os.path.join(folder, 'other.sock')
        other.bind(path)
        other.listen()
        with Server(folder, path=path) as server:
            ended, said = server.result()
            expect(problems, ended == 1 and 'another server has it' in said, f'{path}: {ended}, {said}')
        expect(problems, os.path.exists(path), 'the socket of somebody else is gone')
        expect(problems, not os.path.exists(path + '.lock'), f'{path}: its lock is left')
    with open(there, encoding='ascii') as file:
        expect(problems, file.read() == 'kept', 'a file that was there is not as it was')
    return problems


def clients_of_nobody(folder):
    problems = []
    there = os.path.join(folder, 'a-file')
    with open(there, 'w', encoding='ascii'):
        pass
    dead = os.path.join(folder, 'dead.sock')
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(dead)
    for path in ('relative.sock', folder + '/missing', there, dead, '/' + 'x' * 300):
        status, said = client(path)
        expect(problems, status != 0 and 'SYS-SERVER' in said, f'{path}: {status}, {said}')
    # Nobody there: the kernel in the program itself.
    status, said = client('auto', XDG_RUNTIME_DIR=folder)
    expect(problems, status == 0 and 'Soft GPU' in said, f'auto, and nobody: {status}, {said}')
    status, said = client('')
    expect(problems, status == 0, f'nothing: {status}, {said}')
    return problems


def a_path_is_not_shortened(folder):
    problems = []
    longest = os.path.join(folder, 'x' * (107 - len(folder) - 1))
    with ready_server(folder, path=longest) as server:
        status, said = client(longest)
        expect(problems, status == 0, f'the longest path: {said}')
        for more in ('y', 'y' * 20, 'y' * 300):
            status, said = client(longest + more)
            expect(problems, status != 0 and 'SYS-SERVER' in said and 'too long' in said, f'{more}: {status}, {said}')
    return problems


def auto_finds(folder):
    problems = []
    profile = profile_in(folder, '{"adapters": [{"driver": "soft", "name": "of the server"}]}')
    with ready_server(folder, '--profile', profile) as server:
        status, said = client('auto', XDG_RUNTIME_DIR=folder)
        expect(problems, status == 0 and 'of the server' in said, f'{status}, {said}')
    return problems


def group_may(folder):
    problems = []
    group = os.getgid()
    with ready_server(folder, '--group', str(group)) as server:
        facts = os.stat(server.path)
        expect(problems, stat.S_IMODE(facts.st_mode) == 0o660, f'mode {facts.st_mode:o}')
        expect(problems, facts.st_gid == group, f'group {facts.st_gid}')
    # What is no number of a group is not cut until it is one: 2^32 would be root's.
    for nonsense in ('no-such-group', '', '-1', ' 0', '0x0', '4294967295', '4294967296', '9' * 40):
        with Server(folder, '--group', nonsense) as server:
            ended, said = server.result()
            expect(problems, ended == 1 and 'there is no such group' in said, f'{nonsense}: {ended}, {said}')
    return problems


def systemd_hands_over(folder):
    problems = []
    path = os.path.join(folder, 'handed.sock')
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(8)
        with ready_server(folder, files=(listener.fileno(),)) as server:
            status, said = client(path)
            expect(problems, status == 0, said)
            ended, said = server.end()
            expect(problems, ended == 0, f'ended with {ended}: {said}')
        expect(problems, os.path.exists(path), 'it removed a socket that is not its own')
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wrong:
        wrong.bind(os.path.join(folder, 'stream.sock'))
        wrong.listen(8)
        with Server(folder, files=(wrong.fileno(),)) as server:
            ended, said = server.result()
            expect(problems, ended == 1 and 'sequenced packets' in said, f'a stream: {ended}, {said}')
    return problems


LOOK = """
import os, sys
for name in ('fd', 'map_files'):
    try:
        for entry in os.listdir(f'/proc/{sys.argv[1]}/{name}'):
            open(f'/proc/{sys.argv[1]}/{name}/{entry}', 'rb').close()
            print(name, entry)
    except PermissionError:
        pass
try:
    open(f'/proc/{sys.argv[1]}/mem', 'rb').close()
    print('mem')
except PermissionError:
    pass
"""


def nobody_looks_in(folder):
    """Programs of the server's user, without rights of their own, find nothing of its files and memory."""
    become = []
    if os.geteuid() == 0:
        become = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        os.chmod(folder, 0o777)
        words = [*become, DXGKD, '--version']
        if not shutil.which('setpriv') or subprocess.run(words, capture_output=True, check=False).returncode != 0:
            raise tap.Skip('nobody cannot start the programs of this build')
    environment = {key: value for key, value in os.environ.items() if key != 'DXGK_TESTING'}
    path = os.path.join(folder, 'own.sock')
    with subprocess.Popen([*become, DXGKD, '--socket', path], env=environment, stderr=subprocess.PIPE) as server:
        try:
            started = time.monotonic()
            while not os.path.exists(path) and time.monotonic() < started + PATIENCE_S:
                time.sleep(0.02)
            client(path)
            found = subprocess.run([*become, sys.executable, '-c', LOOK, str(server.pid)], stdout=subprocess.PIPE,
                                   text=True, check=True).stdout
        finally:
            server.terminate()
            server.communicate()
    return [f'found {found}'] if found or server.returncode != 0 else []


def says_nothing_about_clients(folder):
    problems = []
    with ready_server(folder) as server:
        visitors = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(3)]
        for visitor in visitors:
            visitor.connect(server.path)
        client(server.path)                                  # by then all of them are sessions
        ended, said = server.end()
        expect(problems, ended == 0 and said == '', f'{ended}: {said}')
        for visitor in visitors:
            expect(problems, b'the server ends' in visitor.recv(4096), 'a client is not told')
            visitor.close()
    return problems


def turned_away_by_name(folder):
    problems = []
    profile = profile_in(folder, '{"adapters": [{"driver": "soft"}], "limits": {"user": {"sessions": 1}}}')
    with ready_server(folder, '--profile', profile) as server:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
            visitor.connect(server.path)
            for _ in range(20):
                status, said = client(server.path)
                expect(problems, status == 1 and 'SYS-QUOTA' in said and 'limits.user.sessions' in said, f'{said}')
    with ready_server(folder) as server:
        before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (70, before[1]))
        for _ in range(20):
            status, said = client(server.path)
            expect(problems, status == 1 and 'few descriptors left' in said, f'{said}')
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)
        status, said = client(server.path)
        expect(problems, status == 0, f'with descriptors again: {said}')
    return problems


def numbers_of(server):
    return {int(name) for name in os.listdir(f'/proc/{server.process.pid}/fd')}


def first_free_number(server):
    taken = numbers_of(server)
    return next(number for number in range(len(taken) + 1) if number not in taken)


def crowded_is_said(folder):
    """The server has a descriptor or two left, of low numbers, and then none at all."""
    problems = []
    with ready_server(folder) as server, contextlib.ExitStack() as visitors:
        client(server.path)
        before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        first = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        first.connect(server.path)
        # They take what is free between others, and more, so that low numbers are far from the limit. What the server had
        # open for who was here before may be closed between.
        deadline = time.monotonic() + PATIENCE_S
        while (limit := first_free_number(server)) <= 100 and time.monotonic() < deadline:
            taken = numbers_of(server)
            visitors.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)).connect(server.path)
            while numbers_of(server) == taken and time.monotonic() < deadline:
                time.sleep(0.01)
        expect(problems, limit > 100, f'{limit} descriptors')
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit, before[1]))
        while True:
            status, said = client(server.path)
            expect(problems, status == 1 and 'few descriptors left' in said, f'with {first}: {said}')
            if first.fileno() < 0:
                break
            first.close()
        # Others connect as ever when there is room, and nobody has waited at the expense of everybody.
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)
        status, said = client(server.path)
        expect(problems, status == 0, f'with descriptors again: {said}')
    return problems


def a_process_has_so_many_sessions(folder):
    problems = []
    profile = profile_in(folder, '{"adapters": [{"driver": "soft"}], "limits": {"process": {"sessions": 2}}}')
    with ready_server(folder, '--profile', profile) as server, contextlib.ExitStack() as visitors:
        for _ in range(2):
            visitors.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)).connect(server.path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as third:
            third.settimeout(PATIENCE_S)
            third.connect(server.path)
            with contextlib.suppress(TimeoutError):
                said = b''
                said = third.recv(4096)
            expect(problems, b'SYS-QUOTA' in said and b'limits.process.sessions' in said, f'{said}')
        status, said = client(server.path)
        expect(problems, status == 0, f'another process: {said}')
    return problems


def who_comes_next_finds_room(folder):
    """What a program had is its user's again when somebody has waited for its end."""
    problems = []
    profile = profile_in(folder, '{"adapters": [{"driver": "soft"}], "limits": {"user": {"sessions": 1}}}')
    with ready_server(folder, '--profile', profile) as server:
        for i in range(100):
            status, said = client(server.path)
            expect(problems, status == 0, f'number {i}: {said}')
    return problems


def short_files_are_said(folder):
    """A limit for the length of files ends nobody by a signal."""
    problems = []
    limited = ['sh', '-c', 'ulimit -f 100; exec "$@"', 'sh']
    done = subprocess.run([*limited, CLIENT, 'info'], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    expect(problems, done.returncode >= 0 and 'File too large' in done.stderr, f'with a kernel of its own: {done}')
    with ready_server(folder) as server:
        done = subprocess.run([*limited, CLIENT, 'info'], env={**os.environ, 'DXGK_SOCKET': server.path},
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        expect(problems, done.returncode == 0, f'a client: {done}')
    return problems


def complaints_are_few(folder):
    problems = []
    visitors = 2000
    with ready_server(folder) as server:
        started = time.monotonic()
        for _ in range(visitors):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
                visitor.connect(server.path)
                visitor.send(b'x' * 304)
                with contextlib.suppress(ConnectionError):
                    visitor.recv(4096)
        seconds = time.monotonic() - started
        _, said = server.end()
        lines = said.splitlines()
        told = sum(int(found) - 1 for found in re.findall(r'(\d+) more lines about', said))
        expect(problems, len(lines) <= 50 * (seconds + 2), f'{len(lines)} lines in {seconds} s')
        expect(problems, len(lines) + told == visitors, f'{len(lines)} lines, and {told} left out: {lines[-1:]}')
    return problems


def library_is_closed(folder):
    """Who has closed the library has no thread that runs where nothing is."""
    problems = []
    with ready_server(folder) as server:
        environment = {**os.environ, 'DXGK_SOCKET': server.path, 'LD_LIBRARY_PATH': LIBRARY}
        with subprocess.Popen([DLOPEN_CLIENT, 'stay'], env=environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as visitor:
            expect(problems, visitor.stdout.readline() + visitor.stdout.readline() == b'1 adapter\n' * 2, 'no adapter')
            server.end()
            try:
                visitor.wait(0.3)                            # that it hears of the end takes a moment
                problems.append(f'ended with {visitor.returncode}')
            except subprocess.TimeoutExpired:
                visitor.communicate()
                expect(problems, visitor.returncode == 0, f'ended with {visitor.returncode}')
    return problems


def ends_when_idle(folder):
    problems = []
    with ready_server(folder, '--idle-exit', '0.3') as server:
        # Somebody who is connected keeps it there, however long.
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
            visitor.connect(server.path)
            try:
                server.process.wait(1)
                problems.append('it ended while somebody was connected')
            except subprocess.TimeoutExpired:
                pass
        ended, said = server.result()
        expect(problems, ended == 0, f'ended with {ended}: {said}')
        expect(problems, not os.path.exists(server.path), 'its socket is left')
    for nonsense in ('soon', '', '-1', '+1', ' 1', '1e3', '0x10', 'inf', 'nan', '1.', '.', '3s', '1000000001', '9' * 40):
        with Server(folder, '--idle-exit', nonsense) as server:
            ended, said = server.result()
            expect(problems, ended == 2 and 'is no number of seconds' in said, f'{nonsense}: {ended}, {said}')
    return problems


def who_ignores_hangups_goes_on(folder):
    """nohup(1), whose caller logs out."""
    problems = []
    with Server(folder, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as server:
        expect(problems, server.await_word('READY=1'), 'does not start')
        server.process.send_signal(signal.SIGHUP)
        status, said = client(server.path)
        expect(problems, status == 0, f'a client behind a hangup: {status}, {said}')
        expect(problems, server.process.poll() is None, 'it ended')
        ended, said = server.end()
        expect(problems, ended == 0, f'ended with {ended}: {said}')
    # These tests may be run by nohup(1) themselves.
    with Server(folder, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)) as server:
        expect(problems, server.await_word('READY=1'), 'does not start')
        ended, said = server.end(signal.SIGHUP)
        expect(problems, ended == 0, f'ended with {ended}: {said}')
    return problems


CLAIMS = {
    'a server listens, serves, says so to systemd and ends in order': serves,
    'a second server at a path is refused': second_is_refused,
    'the path of a dead server is taken over': dead_one_is_followed,
    'the lock that counts is the one at the path': lock_has_a_name,
    'a server removes the files that are its own': only_its_own_is_removed,
    'paths that are something else are refused, and left alone': strange_paths_are_refused,
    'a client of nobody is refused by name, or embedded when it said auto': clients_of_nobody,
    'a path that is too long is refused, and not another one taken': a_path_is_not_shortened,
    'auto finds the server of the user': auto_finds,
    'a group may connect where it was named': group_may,
    'systemd hands a socket over': systemd_hands_over,
    'programs of its own user find nothing in a server': nobody_looks_in,
    'a server that is asked to end tells its clients, and says nothing about them': says_nothing_about_clients,
    'who is turned away hears why': turned_away_by_name,
    'who comes when there are hardly any descriptors left hears of it': crowded_is_said,
    'a process has as many sessions as its quota says': a_process_has_so_many_sessions,
    'who comes after somebody has gone finds room': who_comes_next_finds_room,
    'a limit for the length of files is said': short_files_are_said,
    'who does wrong by the thousand does not fill the log': complaints_are_few,
    'a client that has closed the library outlives its server': library_is_closed,
    'an idle server ends': ends_when_idle,
    'a hangup ends a server, unless it was started to ignore them': who_ignores_hangups_goes_on,
}


def main():
    results = []
    for claim, check in CLAIMS.items():
        with tempfile.TemporaryDirectory(prefix='dxgk-start-') as folder:
            try:
                results.append((claim, check(folder)))
            except tap.Skip as reason:
                results.append((f'{claim} # SKIP {reason}', []))
            except AssertionError as problem:
                results.append((claim, [problem]))
    return tap.report(results)


if __name__ == '__main__':
    sys.exit(main())
