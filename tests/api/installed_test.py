#!/usr/bin/env python3
"""What `make install` puts down is enough to build and run a client, by the line a newcomer would type.

usage: installed_test.py <build directory> <first_allocation.c>
"""
import os
import pathlib
import subprocess
import sys
import tempfile


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, **options).stdout


def main():
    build, source = sys.argv[1:]
    print('1..1')
    with tempfile.TemporaryDirectory(prefix='installed-') as root:
        run(['meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', root])
        description = next(pathlib.Path(root).rglob('opendxgk.pc'))
        environment = {**os.environ, 'PKG_CONFIG_SYSROOT_DIR': root,
                       'PKG_CONFIG_PATH': str(description.parent)}
        flags = run(['pkg-config', '--cflags', '--libs', 'opendxgk'], env=environment).split()
        program = os.path.join(root, 'program')
        run(['cc', source, '-o', program, *flags])
        library = next(pathlib.Path(root).rglob('libdxcore.so'))
        said = run([program], env={**os.environ, 'LD_LIBRARY_PATH': str(library.parent)})
    good = said == 'video memory\n'
    print(f"{'ok' if good else 'not ok'} 1 - a client is built with pkg-config opendxgk and runs")
    return not good


if __name__ == '__main__':
    sys.exit(main())
