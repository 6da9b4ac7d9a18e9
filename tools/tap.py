# SPDX-License-Identifier: MIT
"""tap.py - how the project's own checks and their tests report: TAP 13, one line per claim.

A check collects problems under a claim ("folders include only what layers.txt allows") and calls
report(); a test program is a file of functions named test_... that assert, and of tables of them, run by run_tests().
"""

import os
import sys
import tempfile
import traceback


def report(claims, skip=None, stream=None):
    """claims: list of (claim, [problem, ...]). Prints TAP; returns the exit status."""
    stream = stream or sys.stdout
    if skip:
        print(f'1..0 # SKIP {skip}', file=stream)
        return 0
    print(f'1..{len(claims)}', file=stream)
    failed = 0
    for number, (claim, problems) in enumerate(claims, 1):
        failed += bool(problems)
        print(f'{"not ok" if problems else "ok"} {number} - {claim}', file=stream)
        for problem in problems:
            for line in str(problem).splitlines():
                print(f'# {line}', file=stream)
    return 1 if failed else 0


class Skip(Exception):
    """Raised by a test that this machine has not what it takes for; it says what."""


def run_tests(namespace):
    """Runs every test_... function of a module; each gets a fresh empty directory."""
    claims = []
    for name, function in list(namespace.items()):
        if not name.startswith('test_') or not callable(function):
            continue
        problems, skipped = [], ''
        with tempfile.TemporaryDirectory(prefix='habits-') as root:
            try:
                function(root)
            except Skip as reason:
                skipped = f' # SKIP {reason}'
            except Exception:                         # a failing claim, with where and what
                problems.append(traceback.format_exc())
        claims.append((name[len('test_'):].replace('_', ' ') + skipped, problems))
    sys.exit(report(claims))


def rows(namespace, check, table):
    """A test for each row of a table {claim: arguments}: check(root, *arguments)."""
    for claim, arguments in table.items():
        namespace['test_' + claim.replace(' ', '_')] = lambda root, arguments=arguments: check(root, *arguments)


def write_tree(root, files):
    """files: {path: text}. What the tests of a check feed it."""
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'w', encoding='utf-8') as file:
            file.write(text)
