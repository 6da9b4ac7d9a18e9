#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `make install` puts down is enough to build and run a client, by the line a newcomer would type,
to build a driver, and to read about both.

usage: installed_test.py <build directory> <project>
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DRIVER = '''#include <ntddk.h>
#include <dispmprt.h>
extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING)
{
	return STATUS_NOT_SUPPORTED;
}
'''


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, **options).stdout


def client_runs(root, project, environment):
    flags = run(['pkg-config', '--cflags', '--libs', 'opendxgk'], env=environment).split()
    program = os.path.join(root, 'program')
    run(['cc', project / 'examples' / 'first_allocation.c', '-o', program, *flags])
    library = next(pathlib.Path(root).rglob('libdxcore.so'))
    said = run([program], env={**os.environ, 'LD_LIBRARY_PATH': str(library.parent)})
    return said == 'video memory\n'


def driver_is_built(root, project, environment):
    """By the line that opendxgk(7) has."""
    page = (project / 'docs' / 'man' / 'opendxgk.7.scd').read_text()
    line = re.search(r'^\t(clang\+\+ .*)$', page, re.MULTILINE).group(1)
    pathlib.Path(root, 'driver.cpp').write_text(DRIVER)
    run(['sh', '-c', line], cwd=root, env=environment)
    return pathlib.Path(root, 'driver.so').exists()


def pages_are_there(root, project, _):
    """With what they lead to, and all examples."""
    readme = next(pathlib.Path(root).rglob('share/doc/opendxgk/README.md'))
    links = re.findall(r'\]\(([^)#:]+)(?:#[^)]*)?\)', readme.read_text())
    wanted = links + [f'examples/{path.name}' for path in (project / 'examples').iterdir()
                      if path.suffix in ('.c', '.dxgk')]
    missing = [name for name in wanted if not (readme.parent / name).exists()]
    for name in missing:
        print(f'# {name} is not installed')
    return len(links) > 5 and not missing


CLAIMS = {'a client is built with pkg-config opendxgk and runs': client_runs,
          'a driver is built by the line of its page': driver_is_built,
          'the pages are installed with what they lead to': pages_are_there}


def main():
    build, project = sys.argv[1], pathlib.Path(sys.argv[2])
    print(f'1..{len(CLAIMS)}')
    with tempfile.TemporaryDirectory(prefix='installed-') as root:
        run(['meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', root])
        description = next(pathlib.Path(root).rglob('opendxgk.pc'))
        environment = {**os.environ, 'PKG_CONFIG_SYSROOT_DIR': root,
                       'PKG_CONFIG_PATH': str(description.parent)}
        results = [claim(root, project, environment) for claim in CLAIMS.values()]
    for number, (claim, good) in enumerate(zip(CLAIMS, results), 1):
        print(f"{'ok' if good else 'not ok'} {number} - {claim}")
    return not all(results)


if __name__ == '__main__':
    sys.exit(main())
