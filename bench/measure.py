# SPDX-License-Identifier: MIT
"""measure.py - how a number is had: programs that print rounds, and instructions by callgrind."""

import os
import re
import subprocess
import sys
import tempfile

LAVAPIPE = '/usr/share/vulkan/icd.d/lvp_icd.x86_64.json'


def run(command, build, may_exit_with=0, profile=None, trace=None):
    """What it printed; None when it ended with the other status that is allowed."""
    environment = {**os.environ, 'VK_ICD_FILENAMES': LAVAPIPE,
                   'DXGK_DRIVER_PATH': os.path.join(build, 'drivers', 'soft')}
    for name in ('DXGK_PROFILE', 'DXGK_SEED', 'DXGK_LOG', 'DXGK_TRACE', 'DXGK_SOCKET'):
        environment.pop(name, None)
    if profile:
        environment['DXGK_PROFILE'] = profile
    if trace:
        environment['DXGK_TRACE'] = trace
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == may_exit_with != 0:
        return None
    if done.returncode != 0:
        print(done.stdout + done.stderr, end='', file=sys.stderr)
        raise SystemExit(f'{" ".join(command)}: exit status {done.returncode}')
    return done.stdout


def instructions(build, function, command, trace=None):
    """How many callgrind counts inside `function` and what it calls."""
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        out = os.path.join(folder, 'callgrind.out')
        run(['valgrind', '--tool=callgrind', '--collect-atstart=no',
             f'--toggle-collect={function}*', f'--callgrind-out-file={out}', *command], build, trace=trace)
        with open(out, encoding='utf-8') as file:
            total = re.search(r'^(?:summary|totals): (\d+)', file.read(), re.MULTILINE)
    return int(total.group(1))


def all_instructions(build, command):
    """How many callgrind counts in a whole run; of what it forks too, the one that does most."""
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={folder}/out.%p', *command], build)
        totals = []
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding='utf-8') as file:
                totals.append(int(re.search(r'^(?:summary|totals): (\d+)', file.read(), re.MULTILINE).group(1)))
    return max(totals)


def numbers(text):
    return [tuple(float(word) for word in line.split()) for line in text.splitlines()]


def quiet(rounds):
    """What others do on the machine adds to some rounds of one side, and to other rounds of the
    other: each side's own quiet ones, a fifth of them, are what it takes."""
    return sorted(rounds)[len(rounds) // 5]
