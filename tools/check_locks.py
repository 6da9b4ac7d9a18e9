#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_locks.py - names say what a function does with the lock it is called under.

usage: check_locks.py [root]

    ..._locked    the lock is held on entry, and all the time until the return
    ..._relock    the lock is held on entry and at the return, and dropped in between
    ..._unlock    the lock is held on entry, and released

Each of them asserts that the lock is held (lock_assert_held(), or a ..._assert_held() of a lock that is
none of lock.h), and what asserts lock_assert_held() has such a name. A ..._locked function may take a second lock and release that one, never the one it asserts; an
..._unlock that releases no lock it is called under unlocks something else, and has nothing to assert. Who calls a
..._locked or ..._relock function has taken a lock before, in its own body, or asserts it as well. Above a
..._relock, in its header or in front of a static one, stands which lock is dropped and retaken, and what may have changed. docs/locking.md lists the ranks of src/base/lock_ranks.h, in
their order, each with files that have it.
"""

import os
import re
import sys

import tap
import tree

RANKS = 'src/base/lock_ranks.h'
PAGE = 'docs/locking.md'
FOLDERS = ('src', 'embed', 'server')
FUNCTION = re.compile(r'^(?:[A-Za-z_][\w \t*]*[ \t*])([a-z_]\w*_(?:locked|relock|unlock))\(([^;{}]*)\)\n'
                      r'\{(.*?)^\}', re.MULTILINE | re.DOTALL)
ANY_FUNCTION = re.compile(FUNCTION.pattern.replace(r'_(?:locked|relock|unlock)', ''), FUNCTION.flags)
ASSERTS = re.compile(r'\b(?:\w+_)?assert_(?:held|locked)\(')
STEP = re.compile(r'\b(\w+)\(')
TAKES = re.compile(r'(?:\w+_)?(?:lock_)?acquire(?:_from)?|\w+_lock(?:_as_\w+)?')
DROPS = re.compile(r'(?:\w+_)?lock_release|\w+_unlock|\w+_relock')


def functions(text, pattern=FUNCTION):
    """-> [(line, name, body)]"""
    code = tree.without_comments(text)
    return [(code.count('\n', 0, m.start(1)) + 1, m.group(1), m.group(3))
            for m in pattern.finditer(code)]


def first_drop(body):
    """What drops a lock that the function has not taken itself, or None."""
    for step in STEP.finditer(body):
        if TAKES.fullmatch(step.group(1)):
            return None
        if DROPS.fullmatch(step.group(1)):
            return step.group(1)
    return None


def released_again(body):
    """A lock that the function asserts and releases all the same, or None."""
    asserted = set(re.findall(r'\block_assert_held\(([^;]*)\);', body))
    taken = set()
    for step, lock in re.findall(r'\block_(acquire|release)\(([^;]*)\);', body):
        if step == 'acquire':
            taken.add(lock)
        elif lock in asserted - taken:
            return lock
    return None


def unsaid(root):
    """Where the comment above a ..._relock, in a header or in front of a static one, does not say that a lock is dropped
    and retaken, and what may have changed."""
    for path in tree.project_files(root):
        if not tree.under(path, FOLDERS) or not path.endswith(tree.C_FILES):
            continue
        text = tree.read(root, path)
        for block in re.finditer(r'((?:^/\*(?:(?!\*/).)*\*/\n)?)((?:^[^\n/]+\n)+)', text, re.MULTILINE | re.DOTALL):
            name = re.search(r'\b(\w+_relock)\(', block.group(2).split('{')[0])
            if not name or path.endswith('.c') and not block.group(2).startswith('static'):
                continue
            line = text.count('\n', 0, block.start(2)) + 1
            if not re.search(r'\bdrops?\s+(?:\*\s+)?and\s+(?:\*\s+)?retakes?\b', block.group(1), re.IGNORECASE):
                yield f'{path}:{line}: {name.group(1)}(): nothing says which lock is dropped and retaken'
            elif not re.search(r'\bmay\b|\bmeanwhile\b', block.group(1)):
                yield f'{path}:{line}: {name.group(1)}(): nothing says what may have changed meanwhile'


def wrong_names(root):
    for path in tree.project_files(root):
        if not tree.under(path, FOLDERS) or not path.endswith('.c'):
            continue
        for line, name, body in functions(tree.read(root, path)):
            drop = first_drop(body)
            if name.endswith('_locked') and drop:
                yield f'{path}:{line}: {name}() drops the lock it is called under: it calls {drop}()'
            elif name.endswith('_locked') and released_again(body):
                yield f'{path}:{line}: {name}() releases {released_again(body)}, which it is called under'
            if name.endswith('_relock') and not drop:
                yield f'{path}:{line}: {name}() drops no lock that it is called under'


def unasserted(root):
    for path in tree.project_files(root):
        if not tree.under(path, FOLDERS) or not path.endswith(tree.C_FILES):
            continue
        for line, name, body in functions(tree.read(root, path)):
            wants_lock = not name.endswith('_unlock') or first_drop(body)
            if wants_lock and not ASSERTS.search(body):
                yield f'{path}:{line}: {name}() does not assert the lock it is called under'


def unnamed(root):
    """Functions that assert a lock which they have not taken themselves, and are called as if they wanted none."""
    for path in tree.project_files(root):
        if not tree.under(path, FOLDERS) or not path.endswith(tree.C_FILES):
            continue
        for line, name, body in functions(tree.read(root, path), ANY_FUNCTION):
            if name.endswith(('_locked', '_relock', '_unlock', '_assert_held')):
                continue
            for step in STEP.finditer(body):
                if TAKES.fullmatch(step.group(1)):
                    break
                if step.group(1) == 'lock_assert_held':
                    yield f'{path}:{line}: {name}() is called under a lock, and its name does not say so'
                    break


def unheld(root):
    """Who calls a function that wants a lock, and neither took one before nor asserts it."""
    for path in tree.project_files(root):
        if not tree.under(path, FOLDERS) or not path.endswith(tree.C_FILES):
            continue
        for line, name, body in functions(tree.read(root, path), ANY_FUNCTION):
            for step in STEP.finditer('' if ASSERTS.search(body) else body):
                if TAKES.fullmatch(step.group(1)):
                    break
                if step.group(1).endswith(('_locked', '_relock')):
                    yield f'{path}:{line}: {name}() calls {step.group(1)}(), and neither takes the lock before nor asserts it'
                    break


def ranks(text):
    return re.findall(r'^\s*LOCK_RANK_(\w+),', tree.without_comments(text), re.MULTILINE)


def documented(page):
    """The ranks of the table's second column, in order."""
    found = []
    for line in page.splitlines():
        if line.startswith('|'):
            found += re.findall(r'`?([A-Z][A-Z0-9_]+)`?', line.split('|')[2])
    return found


def wrong_pages(root):
    wanted = ranks(tree.read(root, RANKS))
    listed = documented(tree.read(root, PAGE))
    for rank in wanted:
        if rank not in listed:
            yield f'{PAGE}: {rank} of {RANKS} is not in the table'
    for index, rank in enumerate(listed):
        if rank not in wanted:
            yield f'{PAGE}: {rank} is no rank of {RANKS}'
        elif index and listed[index - 1] in wanted and \
                wanted.index(listed[index - 1]) >= wanted.index(rank):
            yield f'{PAGE}: {rank} stands behind {listed[index - 1]}, and is outside of it'


def wrong_files(root):
    """A row of the table leads to where the lock is: each file in its first column has the rank."""
    files = set(tree.project_files(root))
    for line in tree.read(root, PAGE).splitlines():
        columns = line.split('|')
        if not line.startswith('|') or len(columns) < 3:
            continue
        for rank in documented(line):
            for name in re.findall(r'`([\w/]+\.[ch])`', columns[1]):
                path = name if name in files else 'src/' + name
                if path not in files or not re.search(rf'LOCK_RANK_{rank}\b', tree.read(root, path)):
                    yield f'{PAGE}: {name} has no lock of rank {rank}'


def unused_ranks(root):
    used = set()
    for path in tree.project_files(root):
        if tree.under(path, FOLDERS) and path.endswith(tree.C_FILES) and path != RANKS:
            used.update(re.findall(r'\bLOCK_RANK_(\w+)', tree.read(root, path)))
    return [f'{RANKS}: nothing has the rank {rank}'
            for rank in ranks(tree.read(root, RANKS)) if rank not in used]


def check(root):
    return [
        ('names say what becomes of the lock', list(wrong_names(root))),
        ('what is called under a lock asserts it', list(unasserted(root))),
        ('what asserts a lock is named so', list(unnamed(root))),
        ('who calls it has the lock', list(unheld(root))),
        ('a _relock says what is dropped and retaken, and what may have changed', list(unsaid(root))),
        ('every rank is used', unused_ranks(root)),
        ('the page lists the ranks, in their order', list(wrong_pages(root))),
        ('the page leads to where the locks are', list(wrong_files(root))),
    ]


def main(arguments):
    root = arguments[0] if arguments else tree.ROOT
    if not os.path.exists(os.path.join(root, RANKS)):
        return tap.report([], skip=f'no {RANKS} in this tree')
    return tap.report(check(root))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
