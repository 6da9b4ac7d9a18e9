#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""README.md: every command works as it is printed, and prints what stands below it.

usage: readme_test.py <build directory> <project>

Blocks are read as those of docs/miniport.md are (guide_test.py). The reader sits in the tree, after `make run`, whose programs are in the build directory.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD, PROJECT = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
sys.path.insert(0, str(PROJECT / 'tests' / 'verify'))
sys.path.insert(0, str(PROJECT / 'tools'))
import guide_test  # noqa: E402
import tap  # noqa: E402

PAGE = (PROJECT / 'README.md').read_text(encoding='utf-8')


def tree_of_a_reader(root):
    """The project, with a build directory to write to."""
    for path in PROJECT.iterdir():
        if not path.name.startswith(('build', '.')):
            os.symlink(path, f'{root}/{path.name}')
    os.mkdir(f'{root}/build')
    for path in BUILD.iterdir():
        os.symlink(path, f'{root}/build/{path.name}')


def run(command, folder):
    environment = {key: value for key, value in os.environ.items() if not key.startswith('DXGK_')}
    # Programs, drivers and libraries find each other without help, as they do for a reader.
    environment.pop('LD_LIBRARY_PATH', None)
    return subprocess.run(['bash', '-c', command], cwd=folder, env=environment, check=False, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def problems_of(command, code, expected, folder):
    if command.startswith('make '):
        # Meson runs this, which make has started: that they are there is what check_commands.py sees.
        return []
    # What is written goes to a folder of the test's own, so that several can run at once.
    done = run(command.replace('/tmp/', f'{folder}/build/'), folder)
    if done.returncode != code:
        return [f'exit code {done.returncode}, expected {code}', done.stdout[-3000:]]
    missing = guide_test.compare(expected, done.stdout)
    return [f'no line, or not in its place: {missing}', done.stdout[-3000:]] if missing else []


def program_is_the_example():
    listing = PAGE.split('```c\n', 1)[1].split('```', 1)[0]
    return [] if listing in (PROJECT / 'examples' / 'first_allocation.c').read_text(encoding='utf-8') else [listing]


def main():
    claims = [('the program is examples/first_allocation.c', program_is_the_example())]
    with tempfile.TemporaryDirectory(prefix='readme-') as root:
        tree_of_a_reader(root)
        for line, command, code, expected in guide_test.read_steps(PAGE):
            claims.append((f'README.md:{line}: {command.split("#")[0].strip()}',
                           problems_of(command, code, expected, root)))
    doors = sum('verify' in claim or 'triangle' in claim or 'replay' in claim for claim, _ in claims)
    claims.append(('each of the three doors has a command', [] if doors >= 3 else [claims]))
    return tap.report(claims)


if __name__ == '__main__':
    sys.exit(main())
