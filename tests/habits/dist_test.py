#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dist_test.py - the archive of the source has the same bytes whoever makes it, and what was committed in it."""

import os
import pathlib
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import dist
import tap
import tree

AUTHOR = {'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@b.example', 'GIT_COMMITTER_NAME': 'a',
          'GIT_COMMITTER_EMAIL': 'a@b.example', 'GIT_COMMITTER_DATE': '1700000000 +0000',
          'GIT_CONFIG_GLOBAL': '/dev/null'}


def git(folder, *arguments):
    subprocess.run(['git', '-C', folder, *arguments], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, env={**os.environ, **AUTHOR})


def project(root):
    """A tree of a few files, committed; one more that is not."""
    folder = os.path.join(root, 'project')
    tap.write_tree(folder, {'meson.build': "project('x', version: '1.2.3')\n", 'b/z.c': 'z\n', 'a.sh': '#!/bin/sh\n'})
    os.chmod(os.path.join(folder, 'a.sh'), 0o755)
    os.symlink('a.sh', os.path.join(folder, 'b', 'link'))
    git(folder, 'init')
    git(folder, 'add', '.')
    git(folder, 'commit', '-m', 'x')
    tap.write_tree(folder, {'left_over.c': 'nobody committed this\n'})
    return folder


def archive(folder, out, epoch=None):
    os.environ.pop('SOURCE_DATE_EPOCH', None)
    if epoch:
        os.environ['SOURCE_DATE_EPOCH'] = epoch
    try:
        return pathlib.Path(dist.write(folder, out)).read_bytes()
    finally:
        os.environ.pop('SOURCE_DATE_EPOCH', None)


def test_two_checkouts_of_one_commit_give_the_same_bytes(root):
    first = project(root)
    before = os.umask(0o077)
    try:
        git(root, 'clone', first, os.path.join(root, 'clone'))
    finally:
        os.umask(before)
    second = os.path.join(root, 'clone')
    os.utime(os.path.join(second, 'a.sh'), (1, 1))
    assert archive(first, f'{root}/1') == archive(second, f'{root}/2')


def test_it_has_what_was_committed_and_nothing_of_the_machine(root):
    archive(project(root), root)
    with tarfile.open(f'{root}/opendxgk-1.2.3.tar.xz') as made:
        members = made.getmembers()
    assert [member.name for member in members] == [f'opendxgk-1.2.3/{name}' for name in
                                                    ('a.sh', 'b/link', 'b/z.c', 'meson.build')], members
    assert [member.mode for member in members] == [0o755, 0o777, 0o644, 0o644]
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {(0, 0, '', '', 1700000000)}


def test_the_date_is_the_one_that_was_asked_for(root):
    folder = project(root)
    assert archive(folder, f'{root}/1', epoch='1') != archive(folder, f'{root}/2')
    with tarfile.open(f'{root}/1/opendxgk-1.2.3.tar.xz') as made:
        assert {member.mtime for member in made.getmembers()} == {1}


def test_this_tree_gives_the_same_bytes_twice(root):
    """Seconds of a processor: only `make soak` asks for it."""
    if not os.environ.get('TEST_LONG'):
        raise tap.Skip('make soak has it')
    if not os.path.exists(os.path.join(tree.ROOT, '.git')):
        raise tap.Skip('this tree is an archive itself')
    git(root, 'clone', '--no-hardlinks', tree.ROOT, os.path.join(root, 'clone'))
    assert archive(tree.ROOT, f'{root}/1') == archive(os.path.join(root, 'clone'), f'{root}/2')


tap.run_tests(globals())
