#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_tidy.py - clang-tidy, with the profile in .clang-tidy, finds nothing.

usage: check_tidy.py [--deep] builddir [file ...]

The analyzer follows the ways through a function until it has seen enough of them; with --deep it
takes its own, larger measure of that, and ten times as long (`make soak`).

Looks at the project's own sources named in builddir/compile_commands.json. A file that was clean
is not looked at again until it, a header it includes, its flags or the profile change: the hash
of all that is kept as an empty file in builddir/tidy-clean/.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys

import tap
import tree

FOLDERS = ('src', 'embed', 'server', 'umd', 'wine', 'cli', 'drivers')
JOBS = min(os.cpu_count() or 1, 8)
# The flags in the list are the chosen compiler's; clang need not know all of gcc's warnings.
EXTRA = ['-Wno-unknown-warning-option', '-Wno-error']
# States of one function; the analyzer's own limit is 225000. Most of what it takes is behind this many, and little of
# what it finds: of sixty checks for NULL that were taken out, 20000 found the same ones in twice the time.
BOUND = ['-Xclang', '-analyzer-config', '-Xclang', 'max-nodes=5000']


def compilations(builddir, chosen):
    """-> [(path relative to the project, directory, command, object)], one for each source"""
    with open(os.path.join(builddir, 'compile_commands.json'), encoding='utf-8') as file:
        commands = json.load(file)
    found = {}
    for entry in commands:
        full = os.path.realpath(os.path.join(entry['directory'], entry['file']))
        path = os.path.relpath(full, os.path.realpath(tree.ROOT))
        if tree.under(path, FOLDERS) and (not chosen or path in chosen):
            found.setdefault(path, (path, entry['directory'], entry['command'], entry.get('output')))
    return [found[path] for path in sorted(found)]


def ask_ninja(builddir):
    """{object as ninja names it: the files its last compilation read}. As long as none of them has changed these are also what
    the next one would read."""
    listed = subprocess.run(['ninja', '-C', builddir, '-t', 'deps'], capture_output=True, text=True, check=False)
    read, files = {}, []
    for line in listed.stdout.splitlines() if listed.returncode == 0 else []:
        if line.startswith(' '):
            files.append(line.strip())
        elif line.endswith('(VALID)'):
            files = read.setdefault(line.split(': ')[0], [])
        else:
            files = []
    return read


def ask_compiler(directory, words):
    """The files of the project that this compilation reads; None if it does not compile."""
    done = subprocess.run([*words, '-MM'], cwd=directory, capture_output=True, text=True, check=False)
    return shlex.split(done.stdout.replace('\\\n', ' '))[1:] if done.returncode == 0 else None


@functools.lru_cache(maxsize=None)
def digest(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).digest()


def fingerprint(directory, command, salt, read):
    """Hash of the flags and of every project file this compilation reads (`read`, where ninja knows); None if unknown."""
    words = shlex.split(command)
    for option in ('-o', '-MF', '-MQ', '-MT'):
        while option in words:
            del words[words.index(option):words.index(option) + 2]
    words = [w for w in words if w not in ('-c', '-MD', '-MMD')]
    names = [name for name in read if not name.startswith('/usr/')] if read else ask_compiler(directory, words)
    total = hashlib.sha256(salt + '\0'.join(words).encode())
    try:
        for name in names or ():
            total.update(digest(os.path.join(directory, name)))
    except FileNotFoundError:           # a header that went away since
        return None
    return total.hexdigest() if names else None


def tidy(builddir, full, flags):
    extra = [f'--extra-arg={flag}' for flag in flags]
    done = subprocess.run(['clang-tidy', '--quiet', '-p', builddir, *extra, full],
                          capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    found = re.findall(r'^\S+?:\d+:\d+: (?:error|warning): .*$', said, re.MULTILINE)
    if not found and done.returncode != 0:
        found = [f'{full}: clang-tidy failed: {said.strip()}']
    return [text.replace(tree.ROOT + '/', '').replace('../', '') for text in found]


def look_at(builddir, store, salt, flags, compilation, read):
    path, directory, command, made = compilation
    mark = fingerprint(directory, command, salt, read.get(made))
    known = mark and os.path.join(store, mark)
    if known and os.path.exists(known):
        os.utime(known)
        return []
    problems = tidy(builddir, os.path.join(tree.ROOT, path), flags)
    if known and not problems:
        with open(known, 'w', encoding='utf-8'):
            pass
    return problems


def main(arguments):
    is_deep = arguments[:1] == ['--deep']
    arguments = arguments[is_deep:]
    if not arguments:
        raise SystemExit('usage: check_tidy.py [--deep] builddir [file ...]')
    builddir, chosen = arguments[0], set(arguments[1:])
    flags = EXTRA + ([] if is_deep else BOUND)
    try:
        version = subprocess.run(['clang-tidy', '--version'], capture_output=True, text=True,
                                 check=True).stdout
    except FileNotFoundError:
        return tap.report([], skip='clang-tidy is not installed')
    store = os.path.join(builddir, 'tidy-clean')
    os.makedirs(store, exist_ok=True)
    salt = (version + tree.read(tree.ROOT, '.clang-tidy') + ' '.join(flags)).encode()

    # The largest first, so that no single one is left for the end.
    work = sorted(compilations(builddir, chosen), reverse=True,
                  key=lambda one: os.path.getsize(os.path.join(tree.ROOT, one[0])))
    digest.cache_clear()
    read = ask_ninja(builddir)
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        results = pool.map(lambda one: look_at(builddir, store, salt, flags, one, read), work)
        problems = sorted({problem for result in results for problem in result})
    return tap.report([(f'clang-tidy finds nothing in {len(work)} files', problems)])


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
