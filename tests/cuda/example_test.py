#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""example_test.py - examples/kernels computes what it says, in less memory than its arrays need.

usage: example_test.py path-of-example path-of-tools
"""
import re
import subprocess
import sys

EXAMPLE, TOOLS = sys.argv[1:3]
sys.path.insert(0, TOOLS)
import tap  # noqa: E402


def test_everything_is_as_the_processor_computes_it(_root):
    done = subprocess.run([EXAMPLE], capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done
    assert re.search(r'multiply .* 0 of 65536 elements are wrong', done.stdout), done
    arrays, each, memory = map(int, re.search(r'saxpy +(\d+) arrays of (\d+) MiB in (\d+) MiB .* 0 of \d+ elements are wrong',
                                              done.stdout).groups())
    assert arrays * each > memory, done


sys.exit(tap.run_tests(globals()))
