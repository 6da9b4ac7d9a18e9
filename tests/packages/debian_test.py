#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Debian packages: built, looked at by lintian, installed in a Debian that has nothing else, used as their pages say, and removed.

usage: debian_test.py project [folder of packages that are built already]

Needs root (for the chroot) and a mirror of Debian's; it is skipped where one of them is missing, and says so.
"""

import glob
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(PROJECT / 'tools'))
import deb  # noqa: E402
import tap  # noqa: E402

SUITE, MIRROR = 'bookworm', 'http://deb.debian.org/debian'
TOOLS = ('dpkg-buildpackage', 'dh', 'lintian', 'mmdebstrap', 'unshare')
DOCS = '/usr/share/doc/opendxgk'


def why_not():
    if os.geteuid() != 0:
        return 'a chroot takes root'
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f'not installed: {" ".join(missing)}'
    return None


class Chroot:
    """A Debian of its own; a command runs in it with its own processes and /proc."""

    def __init__(self, root):
        self.root = root

    def try_to(self, command, seconds=600, **settings):
        # Nothing of this machine's: a cache of compilers that is not there, a language, variables of ours.
        environment = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/root', 'LC_ALL': 'C.UTF-8',
                       'DEBIAN_FRONTEND': 'noninteractive', **settings}
        return subprocess.run(['unshare', '--mount', '--pid', '--fork', f'--mount-proc={self.root}/proc',
                               'chroot', self.root, 'sh', '-ec', command],
                              env=environment, timeout=seconds, check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, command, **settings):
        done = self.try_to(command, **settings)
        assert done.returncode == 0, f'{command}: {done.returncode}\n{done.stdout[-4000:]}'
        return done.stdout

    def packages(self):
        return set(self.run("dpkg-query -W -f '${Package}\\n'").split())


def traces_of_us(root):
    """Files whose name or folder is ours."""
    found = subprocess.run(['find', root, '-xdev', '(', '-path', f'{root}/proc', '-o', '-path', f'{root}/packages',
                            '-o', '-path', f'{root}/var/cache', ')', '-prune', '-o',
                            '(', '-iname', '*dxg*', '-o', '-iname', '*dxcore*', ')', '-print'],
                           check=True, capture_output=True, text=True).stdout.split('\n')
    return {path[len(root):] for path in found if path}


class Test:
    """The steps, in their order; each is a claim."""

    def __init__(self, folder, chroot):
        self.folder, self.chroot = folder, chroot
        self.names = {os.path.basename(path).split('_')[0] for path in glob.glob(f'{folder}/*.deb')
                      if '-dbgsym_' not in path}

    def lintian_has_nothing_to_say(self):
        said = subprocess.run(['lintian', '--allow-root', '--display-info', '--fail-on', 'none',
                               *glob.glob(f'{self.folder}/*.changes')],
                              capture_output=True, text=True, check=True).stdout
        findings = [line for line in said.splitlines() if re.match(r'[EWI]: ', line)]
        assert not findings, '\n'.join(findings)

    def every_package_of_control_is_there(self):
        wanted = re.findall(r'^Package: (\S+)', (PROJECT / 'debian' / 'control').read_text(), re.MULTILINE)
        assert self.names == set(wanted), self.names ^ set(wanted)

    def they_install_in_a_clean_debian(self):
        self.before = self.chroot.packages()
        assert not self.before & self.names
        os.mkdir(f'{self.chroot.root}/packages')
        for name in sorted(self.names):
            shutil.copy(glob.glob(f'{self.folder}/{name}_*.deb')[0], f'{self.chroot.root}/packages')
        self.chroot.run('apt-get -qq update && apt-get -qq -y --no-install-recommends install /packages/*.deb pkg-config')
        assert self.names <= self.chroot.packages()

    def the_tools_run_without_a_profile_or_a_path(self):
        assert 'Soft GPU' in self.chroot.run('dxgk info')
        self.chroot.run('dxgk tour --html /tmp/tour.html')
        assert 'ok' in self.chroot.run(f'dxgk run {DOCS}/examples/first_fill.dxgk && echo ok')

    def somebody_who_is_not_root_uses_them_too(self):
        self.chroot.run('setpriv --reuid=65534 --regid=65534 --clear-groups dxgk info')

    def the_first_program_of_the_readme_is_compiled_and_runs(self):
        program = re.search(r'```c\n(.*?)```', (PROJECT / 'README.md').read_text(), re.DOTALL)
        pathlib.Path(f'{self.chroot.root}/tmp/first.c').write_text(program[1] if program else
                                                                   (PROJECT / 'examples/first_allocation.c').read_text())
        said = self.chroot.run('cd /tmp && clang first.c $(pkg-config --cflags --libs opendxgk) -o first && ./first')
        assert said == 'video memory\n', said

    def a_miniport_is_built_by_the_lines_of_its_page_and_starts(self):
        self.chroot.run(f'cp -r {DOCS}/examples/miniport /tmp/mygpu && cd /tmp/mygpu && '
                        'opendxgk-cc -shared driver.c gpu.c -o minigpu.so && '
                        'echo \'{ "adapters": [ { "driver": "/tmp/mygpu/minigpu.so", "name": "My GPU" } ] }\' > mygpu.json')
        assert 'My GPU' in self.chroot.run('dxgk info', DXGK_PROFILE='/tmp/mygpu/mygpu.json')

    def a_user_mode_driver_is_built_and_draws(self):
        said = self.chroot.run(f'cd /tmp && cp -r {DOCS}/examples/umd . && cd umd && '
                               'clang -shared -fPIC softumd.c $(pkg-config --cflags opendxgk) -o softumd.so && '
                               'clang triangle.c $(pkg-config --cflags --libs opendxgk-umd) -o triangle && '
                               './triangle ./softumd.so')
        assert said, 'it says nothing'

    def the_command_of_the_unit_serves_clients(self):
        unit = pathlib.Path(f'{self.chroot.root}/lib/systemd/system/dxgkd.service').read_text()
        command = re.search(r'^ExecStart=(.*)', unit, re.MULTILINE)[1]
        # As systemd starts it: with its socket in hand, when the first client comes.
        said = self.chroot.run(f'systemd-socket-activate --seqpacket -l /tmp/dxgk.sock {command} & server=$!; '
                               'while ! test -S /tmp/dxgk.sock; do sleep 0.1; done; '
                               'DXGK_SOCKET=/tmp/dxgk.sock timeout 60 dxgk info; kill $server; wait')
        assert 'Soft GPU' in said, said

    def systemd_finds_no_fault_with_the_units_and_the_group_is_there(self):
        said = self.chroot.run('systemd-analyze verify --man=no dxgkd.service dxgkd.socket')
        # Other packages' units are looked at as well, and say what they like.
        assert 'dxgk' not in said, said
        self.chroot.run('getent group dxgk')

    def every_man_page_is_there(self):
        for page in (PROJECT / 'docs' / 'man').glob('*.scd'):
            name = page.name[:-len('.scd')]
            section = name.rsplit('.', 1)[1]
            text = self.chroot.run(f'gzip -dc /usr/share/man/man{section}/{shlex.quote(name)}.gz')
            assert '.TH' in text, name

    def the_loader_finds_the_libraries_and_nothing_has_a_path_of_its_own(self):
        for name in ('libdxcore.so', 'libdxgk.so.0', 'libdxgkumd.so.0'):
            assert name in self.chroot.run('ldconfig -p'), name
        for path in glob.glob(f'{self.chroot.root}/usr/lib/*/libdx*.so*') + [f'{self.chroot.root}/usr/bin/dxgk',
                                                                          f'{self.chroot.root}/usr/bin/dxgkd']:
            dynamic = subprocess.run(['readelf', '-d', path], check=True, capture_output=True, text=True).stdout
            assert 'RUNPATH' not in dynamic and 'RPATH' not in dynamic, path

    def removed_they_leave_nothing_behind(self):
        self.chroot.run(f'apt-get -qq -y purge {" ".join(sorted(self.names))}')
        assert not self.chroot.packages() & self.names
        left = {path for path in traces_of_us(self.chroot.root) if not path.startswith(('/tmp/', '/proc/'))}
        assert not left, left

    def claims(self):
        return [getattr(self, name) for name in vars(Test) if not name.startswith('_') and name != 'claims']


def report(number, name, problem):
    print(f'{"not ok" if problem else "ok"} {number} - {name.replace("_", " ")}')
    for line in (problem or '').splitlines():
        print('#', line)
    sys.stdout.flush()


def main():
    reason = why_not()
    if reason:
        return tap.report([], skip=reason)
    with tempfile.TemporaryDirectory(prefix='packages-') as root:
        made = subprocess.run(['mmdebstrap', '--quiet', '--variant=minbase', '--include=ca-certificates', SUITE,
                               f'{root}/debian', MIRROR], capture_output=True, text=True, check=False)
        if made.returncode:
            return tap.report([], skip=f'no Debian to try it in: {made.stderr.strip().splitlines()[-1:]}')
        shutil.copy('/etc/resolv.conf', f'{root}/debian/etc/resolv.conf')
        folder = sys.argv[2] if len(sys.argv) > 2 else f'{root}/packages'
        if len(sys.argv) <= 2 and deb.build(str(PROJECT), folder):
            print(*open(f'{folder}/build.log', encoding='utf-8').readlines()[-40:], sep='# ')
            return tap.report([('the packages are built', ['see above'])])
        claims = Test(folder, Chroot(f'{root}/debian')).claims()
        print(f'1..{len(claims)}', flush=True)
        failed = False
        for number, claim in enumerate(claims, 1):
            problem = None
            try:
                claim()
            except Exception as mistake:              # a claim that fails, with what it saw
                problem = f'{type(mistake).__name__}: {mistake}'
            failed |= bool(problem)
            report(number, claim.__name__, problem)
    return failed


if __name__ == '__main__':
    sys.exit(main())
