# SPDX-License-Identifier: MIT
"""What a driver says in a marker is printed among its callbacks, where these are."""
import os
import subprocess
import sys

CALLBACKS, TOOLS = sys.argv[1:3]
sys.path.insert(0, TOOLS)
import tap


def said(topics):
    """What the tests of all callbacks print, with these topics of DXGK_LOG."""
    ran = subprocess.run([CALLBACKS], text=True, capture_output=True, timeout=60, check=False,
                         env=dict(os.environ, DXGK_LOG=topics))
    assert ran.returncode == 0, ran.stdout
    return [line for line in ran.stderr.splitlines() if line.startswith('dxgkumd: marker')]


def test_a_marker_is_printed_among_calls(_):
    assert 'dxgkumd: marker "here", call 0 of the API, index -1' in said('calls')


def test_a_marker_is_not_printed_among_refusals(_):
    assert not said('refusals')


tap.run_tests(globals())
