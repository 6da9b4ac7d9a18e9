#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""units_test.py - what systemd says about the units of dxgkd.

usage: units_test.py path-of-dxgkd path-of-server/units path-of-tools
"""

import os
import shutil
import subprocess
import sys

DXGKD, UNITS = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, sys.argv[3])
import tap  # noqa: E402


def verify(root, prefix, *options):
    """Under the names that they are installed with; the program is the one that was built."""
    if not shutil.which('systemd-analyze'):
        raise tap.Skip('there is no systemd-analyze here')
    paths = []
    for source in (prefix + 'dxgkd.service.in', prefix + 'dxgkd.socket'):
        with open(os.path.join(UNITS, source), encoding='utf-8') as file:
            text = file.read().replace('@bindir@/dxgkd', DXGKD)
        assert '@' not in text.replace('@system-service', '').replace('@mount', '').replace('@privileged', ''), source
        paths.append(os.path.join(root, source.removeprefix(prefix).removesuffix('.in')))
        with open(paths[-1], 'w', encoding='utf-8') as file:
            file.write(text)
    done = subprocess.run(['systemd-analyze', *options, 'verify', '--man=no', *paths], capture_output=True, text=True,
                          check=False, env={**os.environ, 'XDG_RUNTIME_DIR': root})
    said = [line for line in done.stderr.splitlines() if 'dxgkd' in line]
    assert done.returncode == 0 and not said, done
    return paths


def test_the_machines_units_are_understood(root):
    verify(root, '')


def test_the_users_units_are_understood(root):
    verify(root, 'user-', '--user')


def test_the_machines_service_is_shut_in(root):
    service, _ = verify(root, '')
    done = subprocess.run(['systemd-analyze', 'security', '--offline=true', '--threshold=20', service],
                          capture_output=True, text=True, check=False)
    if 'unrecognized option' in done.stderr:
        raise tap.Skip('this systemd-analyze does not look at units that are not installed')
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


if __name__ == '__main__':
    tap.run_tests(globals())
