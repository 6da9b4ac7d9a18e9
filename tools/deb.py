#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""deb.py - Debian packages of the last commit.

usage: deb.py folder           source and binary packages end there, with what lintian wants to look at (.changes)

They are built from the archive that dist.py makes, so what is in them is what was committed. JOBS says how many compilers run at once.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

import dist
import tree


def build(root, folder):
    os.makedirs(folder, exist_ok=True)
    for old in glob.glob(os.path.join(folder, '*')):
        os.remove(old)
    # Always the same place: the compiler's cache and the debug information name it.
    work = os.path.join(tempfile.gettempdir(), f'opendxgk-deb-{os.getuid()}')
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work, 0o700)
    try:
        archive = dist.write(root, work)
        subprocess.run(['tar', '-C', work, '-xf', archive], check=True)
        source = archive[:-len('.tar.xz')]
        os.remove(archive)
        environment = {**os.environ, 'DEB_BUILD_OPTIONS': f'nocheck parallel={os.environ.get("JOBS", os.cpu_count())}'}
        with open(os.path.join(folder, 'build.log'), 'w', encoding='utf-8') as log:
            done = subprocess.run(['dpkg-buildpackage', '-us', '-uc'], cwd=source, env=environment, check=False,
                                  stdout=log, stderr=subprocess.STDOUT)
        for result in glob.glob(os.path.join(work, 'opendxgk*.*')) + glob.glob(os.path.join(work, '*.deb')):
            if os.path.isfile(result):
                shutil.move(result, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return done.returncode


def main(arguments):
    if len(arguments) != 1:
        raise SystemExit('usage: deb.py folder')
    if build(tree.ROOT, arguments[0]):
        with open(os.path.join(arguments[0], 'build.log'), encoding='utf-8', errors='replace') as log:
            print(*log.readlines()[-30:], sep='')
        return 1
    print(*sorted(glob.glob(os.path.join(arguments[0], '*.deb'))), sep='\n')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
