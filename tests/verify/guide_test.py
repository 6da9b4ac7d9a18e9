#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/miniport.md: every command works as it is printed, one after the other, with what `make install` puts down.

usage: guide_test.py <build directory> <project>

A block without a language is commands, each of which has to succeed, or to end with the code its comment says. A block
of "text" right behind it is what the last of them prints, among other things: these lines in this order, with … for whatever. A block of
"c" is part of the example driver as it is.
`sudo make install` is carried out from the build directory, into a folder.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

EXIT_CODE = re.compile(r'\s+# exit code (\d+)$')
MAKE = '''#!/bin/sh
test "$*" = install || {{ echo "what is make $*?"; exit 2; }}
exec meson install -C {build} --no-rebuild --quiet --destdir {stage}
'''


class Wrong(Exception):
    """What a command did instead."""


def read_steps(page):
    """[(line number, command, code, [expected lines])]"""
    steps, fence = [], None
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith('```'):
            fence = None if fence is not None else line[3:]
        elif fence == '':
            code = EXIT_CODE.search(line)
            steps.append((number, EXIT_CODE.sub('', line), int(code.group(1)) if code else 0, []))
        elif fence == 'text':
            steps[-1][3].append(line.strip())
    return steps


def untrue_listings(page, project):
    """Listings of C that the example does not have."""
    sources = [path.read_text(encoding='utf-8') for path in (project / 'examples/miniport').glob('*.[ch]')]
    listings = re.findall(r'^```c\n(.*?)^```$', page, re.MULTILINE | re.DOTALL)
    return [listing for listing in listings if not any(listing in source for source in sources)]


def pattern_of(line):
    return re.compile('.*'.join(re.escape(part) for part in line.split('…')))


def compare(expected, said):
    """The first line that is not there, or None."""
    rest = iter(said.splitlines())
    for line in expected:
        pattern = pattern_of(line)
        if not any(pattern.search(text) for text in rest):
            return line
    return None


class Shell:
    """Where the reader sits: commands are run one by one, and a folder that was entered stays entered."""

    def __init__(self, root, build):
        self.folder = root / 'home'
        self.folder.mkdir()
        stage = root / 'stage'
        self.stubs(root / 'stubs', build, stage)
        self.prefix = stage / subprocess.run(
            ['meson', 'introspect', build, '--buildoptions'], capture_output=True, text=True,
            check=True).stdout.partition('"name": "prefix", "value": "')[2].partition('"')[0].lstrip('/')
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith('DXGK_')}
        self.environment['PATH'] = f'{root}/stubs:{self.prefix}/bin:{self.environment["PATH"]}'

    def stubs(self, folder, build, stage):
        folder.mkdir()
        for name, text in (('make', MAKE.format(build=build, stage=stage)), ('sudo', '#!/bin/sh\nexec "$@"\n')):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def find_installed(self):
        """What after_install.py tells a reader to set, in a folder that was staged."""
        for description in self.prefix.rglob('pkgconfig/*.pc'):
            text = re.sub(r'^prefix=.*', f'prefix={self.prefix}', description.read_text(), flags=re.MULTILINE)
            description.write_text(text)
            self.environment['PKG_CONFIG_PATH'] = str(description.parent)
            self.environment['LD_LIBRARY_PATH'] = str(description.parent.parent)

    def run(self, command, code, expected):
        before, after = os.pipe()
        script = f'{command}\ncode=$?; pwd >&{after}; exit $code'
        done = subprocess.run(['bash', '-c', script], cwd=self.folder, env=self.environment, pass_fds=[after],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        os.close(after)
        with os.fdopen(before) as file:
            self.folder = pathlib.Path(file.read().strip() or self.folder)
        if command == 'sudo make install':
            self.find_installed()
        missing = compare(expected, done.stdout)
        if done.returncode != code:
            raise Wrong(f'exit code {done.returncode}, expected {code}\n{done.stdout}')
        if missing:
            raise Wrong(f'no line, or not in its place: {missing}\n{done.stdout}')


def main():
    build, project = sys.argv[1], pathlib.Path(sys.argv[2])
    page = (project / 'docs' / 'miniport.md').read_text(encoding='utf-8')
    steps = read_steps(page)
    print(f'1..{len(steps) + 1}', flush=True)
    untrue = untrue_listings(page, project)
    for listing in untrue:
        print('# not in the example:', listing.splitlines()[0])
    print(f"{'not ok' if untrue else 'ok'} 1 - what is printed of the driver is in it", flush=True)
    failed = bool(untrue)
    with tempfile.TemporaryDirectory(prefix='guide-') as root:
        shell = Shell(pathlib.Path(root), build)
        for number, (line, command, code, expected) in enumerate(steps, 2):
            wrong = None
            try:
                shell.run(command, code, expected)
            except (Wrong, OSError, subprocess.SubprocessError) as mistake:
                wrong = str(mistake)
            failed |= bool(wrong)
            for text in (wrong or '').splitlines()[:60]:
                print('#', text)
            print(f"{'not ok' if wrong else 'ok'} {number} - miniport.md:{line}: {command.replace('#', '')}", flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
