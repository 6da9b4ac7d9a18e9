#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""allocation_life_test.py - the program that `make run` shows: its steps, and the driver calls between.

usage: allocation_life_test.py path-of-allocation_life path-of-tools
"""

import os
import re
import subprocess
import sys

PROGRAM = sys.argv[1]
sys.path.insert(0, sys.argv[2])
import tap  # noqa: E402


def run(**settings):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    environment.update(settings)
    done = subprocess.run([PROGRAM], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout.splitlines()


def test_without_logging_every_step_is_one_line(root):
    lines = run()
    assert len(lines) == 9, lines
    assert '"the same bytes"' in lines[5], lines


def test_driver_calls_appear_between_the_steps_that_cause_them(root):
    seen = []
    for line in run(DXGK_LOG='calls'):
        call = re.match(r'dxgk: DxgkDdi(\w+Allocation)\(.*\): STATUS_SUCCESS', line)
        if call:
            seen.append(call.group(1))
        elif not line.startswith('dxgk:'):
            seen.append(line.split('  ')[0].split(' 0x')[0])
    assert seen == [
        'two devices',
        'CreateAllocation', 'OpenAllocation', 'created on the first',
        'shared',
        'OpenAllocation', 'opened on the second',
        'locked, written',
        'locked, read',
        'unlocked',
        'CloseAllocation', 'destroyed on the first',
        'CloseAllocation', 'DestroyAllocation', 'destroyed',
    ], seen


if __name__ == '__main__':
    tap.run_tests(globals())
