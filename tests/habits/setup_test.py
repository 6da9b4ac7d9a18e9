#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""setup_test.py - setup.sh on machines made of a few fake commands."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import tap
import tree

REAL = ('bash', 'awk', 'grep', 'dirname', 'env')


def machine(root, installed, user=0, commands=('apt-get', 'dpkg-query')):
    """A PATH on which `installed` packages are there, and apt-get and sudo write down their calls."""
    scripts = {
        'dpkg-query': f'case " {" ".join(installed)} " in *" ${{4}} "*) echo "install ok installed";;'
                      ' *) exit 1;; esac',
        'apt-get': f'echo "$DEBIAN_FRONTEND apt-get $*" >> {root}/log',
        'sudo': f'echo sudo >> {root}/log; exec "$@"',
        'id': f'echo {user}',
    }
    tap.write_tree(root, {f'bin/{name}': f'#!/bin/bash\n{text}\n' for name, text in scripts.items()
                          if name in commands or name == 'id'})
    for name in os.listdir(f'{root}/bin'):
        os.chmod(f'{root}/bin/{name}', 0o755)
    for name in REAL:
        os.symlink(subprocess.check_output(['which', name], text=True).strip(), f'{root}/bin/{name}')


def setup(root, *groups):
    done = subprocess.run(['/bin/bash', f'{tree.ROOT}/tools/setup.sh', *groups],
                          env={'PATH': f'{root}/bin'}, capture_output=True, text=True, check=False)
    log = tree.read(root, 'log') if os.path.exists(f'{root}/log') else ''
    return done.returncode, done.stdout + done.stderr, log


def packages(*groups):
    rows = [line.split() for line in tree.read(tree.ROOT, 'tools/packages.txt').splitlines()
            if line and not line.startswith('#')]
    return [row[1] for row in rows if row[0] in groups]


def test_every_package_has_a_group_and_a_reason(_):
    for line in tree.read(tree.ROOT, 'tools/packages.txt').splitlines():
        if line and not line.startswith('#'):
            words = line.split()
            assert words[0] in ('build', 'test', 'bench', 'soak', 'package') and len(words) > 2, line


def test_a_complete_machine_hears_nothing(root):
    machine(root, packages('build', 'test', 'bench'))
    assert setup(root, 'build', 'test', 'bench') == (0, '', '')


def test_root_installs_only_what_is_missing_and_says_why(root):
    machine(root, [p for p in packages('build') if p not in ('meson', 'scdoc')])
    status, said, log = setup(root, 'build')
    assert status == 0, said
    assert 'meson' in said and 'describes the build' in said and 'ninja' not in said, said
    assert log.splitlines()[0].startswith('noninteractive apt-get') and 'update' in log, log
    assert log.splitlines()[1].endswith(' meson scdoc') and ' install ' in log, log


def test_other_groups_are_left_alone(root):
    machine(root, packages('build'))
    assert setup(root, 'build') == (0, '', '')


def test_a_user_goes_through_sudo(root):
    machine(root, [], user=1000, commands=('apt-get', 'dpkg-query', 'sudo'))
    status, said, log = setup(root, 'bench')
    assert status == 0 and 'sudo' in said, said
    assert log.splitlines()[0] == 'sudo' and 'valgrind' in log, log


def test_without_root_and_sudo_the_command_is_printed(root):
    machine(root, [], user=1000)
    status, said, log = setup(root, 'bench')
    assert status != 0 and 'apt-get install valgrind' in said and log == '', said


def test_a_failing_apt_fails_the_setup(root):
    machine(root, [], commands=('dpkg-query',))
    tap.write_tree(root, {'bin/apt-get': '#!/bin/bash\nexit 100\n'})
    os.chmod(f'{root}/bin/apt-get', 0o755)
    status, said, _ = setup(root, 'bench')
    assert status != 0 and 'by hand' in said, said


def test_another_system_is_told_and_not_stopped(root):
    machine(root, [], commands=())
    status, said, _ = setup(root, 'bench')
    assert status == 0 and 'valgrind' in said, said


tap.run_tests(globals())
