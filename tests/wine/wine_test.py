#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wine_test.py - runs a Windows program by `dxgk wine`.

usage: wine_test.py claims|end DXGK FOLDER PROGRAM.exe [ARGUMENT...]

`claims`: the program prints TAP, which is passed on. `end`: the program ends in the middle of everything; what is left of it is
looked at here. FOLDER gets a prefix of its own, so that nothing is shared with other tests or with the user. Skipped where Wine is not
installed.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import time

NOT_FOUND = 127
PATIENCE_S = 100


def environment(folder):
    """No screen, nothing of the user's Wine."""
    left_out = ('DISPLAY', 'WAYLAND_DISPLAY', 'WINEPREFIX', 'WINEDLLPATH', 'WINEDLLOVERRIDES', 'WINEDEBUG')
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return dict(kept, HOME=folder, LC_ALL='C.UTF-8')


def run(dxgk, folder, program, **more):
    return subprocess.run([dxgk, 'wine', '--prefix', os.path.join(folder, 'prefix'), *program], check=False,
                          env=dict(environment(folder), **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          encoding='utf-8', errors='replace', timeout=PATIENCE_S)


def stop_wine(folder):
    """Wine's server stays for a while, for programs that may follow."""
    for name in ('wineserver', '/usr/lib/wine/wineserver64', '/usr/lib/wine/wineserver'):
        server = shutil.which(name)
        if server:
            subprocess.run([server, '-k'], check=False, env=dict(os.environ, WINEPREFIX=os.path.join(folder, 'prefix')),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE_S)
            return


class Claims:
    def __init__(self):
        self.count, self.failed = 0, 0

    def add(self, text, is_good, why=''):
        self.count += 1
        self.failed += not is_good
        print(f'{"ok" if is_good else "not ok"} {self.count} - {text}')
        if not is_good:
            print(f'# {why}')

    def end(self):
        print(f'1..{self.count}')
        return 1 if self.failed else 0


def events_of(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)['traceEvents']


def test_end(dxgk, folder, program):
    claims = Claims()
    trace = os.path.join(folder, 'trace.json')
    began = time.monotonic()
    done = run(dxgk, folder, [program, '300'], DXGK_TRACE=trace)
    claims.add('the exit status is the program\'s', done.returncode == 42, f'{done.returncode}: {done.stdout}')
    claims.add('a thread that waits in the kernel does not hold the end up', time.monotonic() - began < 60, 'it took a minute')
    try:
        names = [event.get('name') for event in events_of(trace) if event.get('ph') == 'e']
        claims.add('its trace is complete: everything in it ends, the adapter last', names[-1:] == ['adapter'], names[-5:])
    except (OSError, ValueError) as problem:
        claims.add('its trace is complete', False, problem)
    several = run(dxgk, folder, ['--', program, '1'])
    claims.add('it runs again, from the same prefix', several.returncode == 42, several.stdout)
    wild = run(dxgk, folder, ['--', program, 'wild'])
    claims.add('a pointer that leads nowhere ends the program, as an access violation does', wild.returncode == 5 and 'went on' not in wild.stdout,
               f'{wild.returncode}: {wild.stdout}')
    test_what_is_no_program(claims, dxgk, folder, program)
    return claims.end()


def test_what_is_no_program(claims, dxgk, folder, program):
    """Wine says of all of these that no application is associated with them, or crashes."""
    with open(program, 'rb') as file:
        header = bytearray(file.read(4096))
    machine = struct.unpack_from('<I', header, 0x3c)[0] + 4
    files = {'empty.exe': b'', 'text.exe': b'MZ but no more' * 9, 'far.exe': header[:0x3c] + b'\xff\xff\xff\xff' + header[0x40:]}
    for name, number in ('32.exe', 0x14c), ('arm.exe', 0xaa64):
        struct.pack_into('<H', header, machine, number)
        files[name] = bytes(header)
    for name, content in files.items():
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(content)
    for what, name, status, reason in (
            ('a program that is not there', 'nothing.exe', 127, 'No such file'), ('no name', None, 127, 'No such file'),
            ('a folder', '.', 126, 'no file'), ('an empty file', 'empty.exe', 126, 'no Windows program'),
            ('a text', 'text.exe', 126, 'no Windows program'), ('a header beyond the end', 'far.exe', 126, 'no Windows program'),
            ('a 32-bit program', '32.exe', 126, '32-bit'), ('another processor\'s', 'arm.exe', 126, 'another processor')):
        done = subprocess.run([dxgk, 'wine', '--prefix', os.path.join(folder, 'prefix'), os.path.join(folder, name) if name else ''],
                              check=False, env=environment(folder), capture_output=True, text=True, timeout=PATIENCE_S)
        claims.add(f'{what} is refused with the reason', done.returncode == status and reason in done.stderr.split(': ')[-1], done)


def main(kind, dxgk, folder, program, *arguments):
    os.makedirs(folder, exist_ok=True)
    # A folder is no program: whether there is a Wine.
    found = subprocess.run([dxgk, 'wine', '--prefix', os.path.join(folder, 'prefix'), folder], check=False,
                           env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    if found.returncode == NOT_FOUND:
        print(f'1..0 # SKIP {found.stderr.strip()}')
        return 0
    try:
        if kind == 'end':
            return test_end(dxgk, folder, program)
        done = run(dxgk, folder, [program, *arguments])
        print(done.stdout, end='')
        if '1..' not in done.stdout:
            print(f'Bail out! it ended with {done.returncode}, before its last claim')
        return done.returncode
    finally:
        stop_wine(folder)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
