#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fuzz_test.py - libFuzzer invents inputs from nothing; none of them breaks anything.

usage: fuzz_test.py path-of-target runs path-of-tools

An input that does is printed, and can be run again: calls_fuzz file.
"""

import os
import subprocess
import sys
import tempfile

TARGET, RUNS = sys.argv[1], sys.argv[2]
sys.path.insert(0, sys.argv[3])
import tap  # noqa: E402


def main():
    name = os.path.basename(TARGET)
    with tempfile.TemporaryDirectory(prefix='fuzz-') as folder:
        done = subprocess.run(
            [TARGET, f'-runs={RUNS}', '-seed=1', '-max_len=1024', '-len_control=5', '-timeout=60',
             '-detect_leaks=0', f'-artifact_prefix={folder}/'],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace',
            check=False)
        problems = []
        if done.returncode != 0:
            problems = [f'exit status {done.returncode}', *done.stdout.splitlines()[-60:]]
            for artifact in os.listdir(folder):
                with open(os.path.join(folder, artifact), 'rb') as file:
                    problems.append(f'{artifact}: {file.read().hex()}')
    return tap.report([(f'{name}: {RUNS} inputs find nothing', problems)])


if __name__ == '__main__':
    sys.exit(main())
