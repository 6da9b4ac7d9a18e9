#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""strange_test.py - what looks at kernels and at traces, led to things that are none: it ends soon, and says why in a sentence.

usage: strange_test.py path-of-dxgk path-of-tools
"""

import concurrent.futures
import os
import socket
import subprocess
import sys
import threading

DXGK = os.path.abspath(sys.argv[1])
sys.path.insert(0, sys.argv[2])
import tap  # noqa: E402

SOON = 40  # seconds, on a machine with much else to do
LOOKS = (('top', '-n', '1'), ('metrics',), ('ctl', 'map', '1'), ('ctl', 'stats'))


def run(*words):
    kept = {name: value for name, value in os.environ.items() if not name.startswith('DXGK_')}
    return subprocess.run([DXGK, *words], env=kept, capture_output=True, text=True, check=False, timeout=SOON,
                          stdin=subprocess.DEVNULL)


def run_all(commands):
    with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
        return list(zip(commands, pool.map(lambda words: run(*words), commands)))


def is_a_sentence(done, status=1):
    return done.returncode == status and done.stdout == '' and done.stderr.startswith('dxgk') and done.stderr.count('\n') == 1


class Listener:
    """Of both kinds of sockets; `talk` has who comes, None: nobody is let in."""

    def __init__(self, root, name, talk):
        self.paths, self.kept = [], []
        for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
            path = os.path.join(root, f'{name}.{kind.name}')
            listening = socket.socket(socket.AF_UNIX, kind)
            listening.bind(path)
            listening.listen(64)
            self.paths.append(path)
            self.kept.append(listening)
            if talk:
                threading.Thread(target=self.take, args=(listening, talk), daemon=True).start()

    def take(self, listening, talk):
        while True:
            taken = listening.accept()[0]
            self.kept.append(taken)
            try:
                talk(taken)
            except OSError:
                pass


def looks_at(paths):
    return [(look[0], option, path, *look[1:]) for path in paths for option in ('--socket', '--control') for look in LOOKS]


def test_a_socket_where_nobody_answers(root):
    never = Listener(root, 'never', None)
    silent = Listener(root, 'silent', lambda taken: None)
    for words, done in run_all(looks_at(never.paths + silent.paths)):
        assert is_a_sentence(done) and words[2] in done.stderr, (words, done)


def test_a_socket_that_says_nonsense_or_hangs_up(root):
    nonsense = Listener(root, 'nonsense', lambda taken: taken.send(b'nonsense' * 700))
    short = Listener(root, 'short', lambda taken: taken.send(b'n'))
    deaf = Listener(root, 'deaf', lambda taken: taken.close())
    for words, done in run_all(looks_at(nonsense.paths + short.paths + deaf.paths)):
        assert is_a_sentence(done) and words[2] in done.stderr, (words, done)


def test_a_path_that_is_no_socket(root):
    fifo, plain = os.path.join(root, 'fifo'), os.path.join(root, 'plain')
    os.mkfifo(fifo)
    with open(plain, 'w', encoding='utf-8') as file:
        file.write('nothing')
    for words, done in run_all(looks_at([fifo, plain, root, '/dev/null'])):
        assert is_a_sentence(done) and words[2] in done.stderr, (words, done)


def reads_of(root, path):
    return [('view', path, '-o', os.path.join(root, 'page.html')), ('view', path, '--query', 'thrash'), ('why', '1', path),
            ('trace', '-o', os.path.join(root, 'made.json'), '--convert', path)]


def test_a_trace_that_is_none_is_named(root):
    fifo, plain, empty = (os.path.join(root, name) for name in ('fifo', 'plain', 'empty'))
    os.mkfifo(fifo)
    for path, content in ((plain, 'no trace'), (empty, '')):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(content)
    with open(os.path.join(root, 'made.json'), 'w', encoding='utf-8') as file:
        file.write('there before')
    for path in (fifo, plain, empty, root, '/dev/null', '/dev/zero'):
        for words, done in run_all(reads_of(root, path)):
            assert done.returncode != 0 and done.stderr.count('\n') == 1 and path in done.stderr, (words, done)
    with open(os.path.join(root, 'made.json'), encoding='utf-8') as file:
        assert file.read() == 'there before'


if __name__ == '__main__':
    tap.run_tests(globals())
