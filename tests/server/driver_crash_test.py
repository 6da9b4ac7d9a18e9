#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""driver_crash_test.py - a driver that crashes ends the server, which says where; clients are told, and go on.

usage: driver_crash_test.py path-of-dxgkd path-of-crash_client path-of-rude.so path-of-no_notes.so path-of-dxgk path-of-tools
"""

import json
import os
import re
import subprocess
import sys
import time

DXGKD, CLIENT, DRIVER, NO_NOTES, DXGK = map(os.path.abspath, sys.argv[1:6])
sys.path.insert(0, sys.argv[6])
import dxgkd  # noqa: E402
import tap  # noqa: E402

DEVICE_REMOVED = '0xc00002b6'


def start_server(root):
    profile, path = (os.path.join(root, name) for name in ('rude.json', 'dxgk.sock'))
    with open(profile, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': DRIVER}]}, file)
    server = dxgkd.start(DXGKD, root, '--profile', profile, env={**os.environ, 'LD_PRELOAD': NO_NOTES}, stderr=subprocess.PIPE,
                         text=True)
    return server, {**os.environ, 'DXGK_SOCKET': path}


def crash(environment):
    return subprocess.run([CLIENT, 'crash'], env=environment, capture_output=True, text=True, check=False, timeout=60)


def report_of(server):
    try:
        return server.communicate(timeout=20)[1]
    except subprocess.TimeoutExpired:
        server.kill()
        raise


def test_a_crash_is_told_by_entry_point_and_line_and_ends_every_wait(root):
    server, environment = start_server(root)
    waiting = subprocess.Popen([CLIENT, 'wait'], env=environment, stdout=subprocess.PIPE, text=True)
    assert waiting.stdout.readline().startswith('ready')
    crashed = crash(environment)
    begun = time.monotonic()
    said, _ = waiting.communicate(timeout=60)
    assert time.monotonic() - begun < 5
    report = report_of(server)

    assert server.returncode < 0, server.returncode
    assert 'DxgkDdiEscape' in report and 'rude' in report and '.c:' in report, report
    assert crashed.stdout.splitlines() == [f'escape: {DEVICE_REMOVED} SYS-SERVER', f'next: {DEVICE_REMOVED} SYS-SERVER'], crashed
    assert said.splitlines() == [f'wait: {DEVICE_REMOVED} SYS-SERVER', 'fence: 0xffffffffffffffff'], said


def test_another_server_takes_the_path_over(root):
    server, environment = start_server(root)
    crash(environment)
    report_of(server)
    second, environment = start_server(root)
    done = crash(environment)
    report_of(second)
    assert 'SYS-SERVER' in done.stdout, done


def test_what_a_driver_does_wrong_is_counted(root):
    server, environment = start_server(root)

    def reports():
        told = subprocess.run([DXGK, 'metrics', '--socket', environment['DXGK_SOCKET']], capture_output=True, text=True, check=True,
                              timeout=60).stdout
        return re.findall(r'^dxgk_driver_reports_total\{rule="(.*)"\} (\d+)$', told, re.MULTILINE)

    assert not reports()
    for times in '12':
        subprocess.run([CLIENT, 'rude'], env=environment, capture_output=True, check=True, timeout=60)
        assert reports() == [('DDI-LOCK-HELD', times)], reports()
    server.terminate()
    assert 'inside of a critical region' in report_of(server) and server.returncode == 0


if __name__ == '__main__':
    tap.run_tests(globals())
