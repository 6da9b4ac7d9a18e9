#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dist.py - the source as one archive, the same bytes whoever makes it.

usage: dist.py folder          prints the path of what it wrote there: opendxgk-VERSION.tar.xz

Contains what the last commit has, and nothing of the machine: names are sorted, owners are 0, and every date is
SOURCE_DATE_EPOCH, or the commit's where that is not set.
"""

import io
import os
import re
import subprocess
import sys
import tarfile

import tree


def git(root, *arguments):
    return subprocess.run(['git', '-C', root, *arguments], check=True, stdout=subprocess.PIPE).stdout


def version(root):
    return re.search(r"version: '([\d.]+)'", git(root, 'show', 'HEAD:meson.build').decode())[1]


def when(root):
    return int(os.environ.get('SOURCE_DATE_EPOCH') or git(root, 'log', '-1', '--format=%ct'))


def normal(member, prefix, date):
    """The entry, with what is the same everywhere."""
    plain = tarfile.TarInfo(f'{prefix}/{member.name}')
    plain.type, plain.linkname, plain.size, plain.mtime = member.type, member.linkname, member.size, date
    plain.mode = 0o777 if member.issym() else 0o755 if member.mode & 0o100 else 0o644
    return plain


def write(root, folder):
    prefix, date = f'opendxgk-{version(root)}', when(root)
    path = os.path.join(folder, prefix + '.tar.xz')
    committed = tarfile.open(fileobj=io.BytesIO(git(root, 'archive', '--format=tar', 'HEAD')))
    members = sorted((m for m in committed.getmembers() if m.isfile() or m.issym()), key=lambda m: m.name)
    os.makedirs(folder, exist_ok=True)
    with tarfile.open(path, 'w:xz', format=tarfile.GNU_FORMAT, preset=6) as archive:
        for member in members:
            archive.addfile(normal(member, prefix, date), committed.extractfile(member) if member.isfile() else None)
    return path


def main(arguments):
    if len(arguments) != 1:
        raise SystemExit('usage: dist.py folder')
    print(write(tree.ROOT, arguments[0]))
    if git(tree.ROOT, 'status', '--porcelain', '--untracked-files=no'):
        print('dist: what is changed and not committed is not in it', file=sys.stderr)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
