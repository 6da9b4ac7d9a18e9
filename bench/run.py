#!/usr/bin/env python3
"""run.py - what the project promises about speed, measured.

usage: run.py build-directory

Instructions (callgrind) are the same on every run: a missed goal fails. Times are ratios of two
things measured in turn on this machine: a missed goal is said, and fails nothing. The numbers also
go to bench/results.json in the build directory.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

LIVE = [1_000, 10_000, 100_000, 1_000_000]
PAIRS = 100_000
CALLS = 200_000
ROUNDS = 11


def run(command, build):
    environment = {**os.environ,
                   'DXGK_DRIVER_PATH': os.path.join(build, 'drivers', 'soft')}
    for name in ('DXGK_PROFILE', 'DXGK_SEED', 'DXGK_LOG', 'DXGK_TRACE', 'DXGK_SOCKET'):
        environment.pop(name, None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr, end='', file=sys.stderr)
        raise SystemExit(f'{" ".join(command)}: exit status {done.returncode}')
    return done.stdout


def instructions(build, function, command):
    """How many callgrind counts inside `function` and what it calls."""
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        out = os.path.join(folder, 'callgrind.out')
        run(['valgrind', '--tool=callgrind', '--collect-atstart=no',
             f'--toggle-collect={function}', f'--callgrind-out-file={out}', *command], build)
        with open(out, encoding='utf-8') as file:
            total = re.search(r'^(?:summary|totals): (\d+)', file.read(), re.MULTILINE)
    return int(total.group(1))


def bench_handles(build):
    program = os.path.join(build, 'bench', 'handle_pairs')
    counts = {live: instructions(build, 'exchange_handles', [program, str(live), str(PAIRS)]) / PAIRS
              for live in LIVE}
    first = counts[LIVE[0]]
    rows = [{'what': f'handle pair, {live:,} live', 'value': count, 'unit': 'instructions'}
            for live, count in counts.items()]
    rows.append({'what': f'handle pair, growth to {LIVE[-1]:,}', 'unit': 'times',
                 'value': max(counts.values()) / first, 'goal': 1.1, 'is_repeatable': True})
    return rows


def bench_device_state(build):
    program = os.path.join(build, 'bench', 'device_state')
    rounds = [tuple(float(word) for word in line.split())
              for line in run([program, str(CALLS), str(ROUNDS)], build).splitlines()]
    made = int(run([program, '--no-system-call'], build))
    counted = instructions(build, 'D3DKMTGetDeviceState', [program, '1000', '1'])
    return [
        {'what': 'D3DKMTGetDeviceState', 'unit': 'ns',
         'value': statistics.median(state for state, _ in rounds)},
        {'what': 'getppid()', 'unit': 'ns',
         'value': statistics.median(system for _, system in rounds)},
        {'what': 'D3DKMTGetDeviceState / getppid()', 'unit': 'times',
         'value': statistics.median(state / system for state, system in rounds), 'goal': 1.0},
        {'what': 'D3DKMTGetDeviceState', 'unit': 'instructions', 'value': counted / 2000},
        {'what': 'calls made under strict seccomp', 'unit': '', 'value': made},
    ]


def verdict(row):
    if 'goal' not in row:
        return ''
    return 'ok' if row['value'] <= row['goal'] else 'MISSED'


def main(arguments):
    if len(arguments) != 1:
        raise SystemExit('usage: run.py build-directory')
    build = os.path.abspath(arguments[0])
    if not os.path.exists(os.path.join(build, 'bench', 'device_state')):
        raise SystemExit(f'{build}/bench: there are no benchmarks; build them first')
    rows = bench_device_state(build) + bench_handles(build)
    for row in rows:
        goal = f'<= {row["goal"]}' if 'goal' in row else ''
        print(f'{row["what"]:<36} {row["value"]:>12,.2f} {row["unit"]:<13}{goal:<8}{verdict(row)}')
    with open(os.path.join(build, 'bench', 'results.json'), 'w', encoding='utf-8') as file:
        json.dump([{**row, 'verdict': verdict(row)} for row in rows], file, indent=2)
    return 1 if any(verdict(row) == 'MISSED' and row.get('is_repeatable') for row in rows) else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
