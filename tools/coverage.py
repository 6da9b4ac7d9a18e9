#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py - which lines and branches of src/ the tests pass through.

usage: coverage.py [--missed prefix] [--keep] [--test pattern ...]

Builds the variant `coverage`, runs its suite and prints, per folder of src/ and in all, how many
lines and branches were passed. --missed lists what was not, in files whose path begins so; --keep
counts what earlier runs left, and runs only what --test names (nothing, where it names none).

tools/coverage.txt has the goals for the whole, what each folder has reached (the run fails below
that, so it can only rise), the files of which every line and branch is passed, and what is not
counted, each with its reason. After tests were added, raise what it says.
"""

import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys

import run_tests
import tree
import variants

SETTINGS = os.path.join(tree.ROOT, 'tools', 'coverage.txt')
FOLDER = 'src/'


class Settings:
    """goal LINES BRANCHES | reached FOLDER LINES BRANCHES | every PATHS | exclude PATHS /REGEX/ REASON"""

    def __init__(self, text):
        self.goal = (0.0, 0.0)
        self.reached = {}
        self.every = []
        self.exclusions = []
        for number, line in enumerate(text.splitlines(), 1):
            word, _, rest = line.strip().partition(' ')
            rest = rest.strip()
            exclusion = re.fullmatch(r'(\S+)\s+/(.*)/\s+(\S.*)', rest)
            if not word or word.startswith('#'):
                continue
            if word == 'goal' and len(rest.split()) == 2:
                self.goal = tuple(map(float, rest.split()))
            elif word == 'reached' and len(rest.split()) == 3:
                folder, lines, branches = rest.split()
                self.reached[folder] = (float(lines), float(branches))
            elif word == 'every' and len(rest.split()) == 1:
                self.every.append(rest)
            elif word == 'exclude' and exclusion:
                paths, regex, reason = exclusion.groups()
                self.exclusions.append((paths, re.compile(regex), reason))
            else:
                raise SystemExit(f'coverage.txt:{number}: neither goal, reached, every nor exclude: {line}')

    def exclusion(self, path, text):
        """Which exclusion this line of source falls under, as its index; None where none."""
        for index, (paths, regex, _) in enumerate(self.exclusions):
            if fnmatch.fnmatchcase(path, paths) and regex.search(text):
                return index
        return None


class Counts:
    """How often each line ran and each branch was taken, over all objects that contain it: what is
    in a header, or in a file that is compiled twice, is passed when one of them passes it."""

    def __init__(self):
        self.lines = {}         # (path, line) -> how often
        self.branches = {}      # (path, line) -> [how often, ...]

    def add(self, path, line, how_often, branches):
        key = (path, line)
        self.lines[key] = self.lines.get(key, 0) + how_often
        mine = self.branches.setdefault(key, [])
        mine += [0] * (len(branches) - len(mine))
        for index, taken in enumerate(branches):
            mine[index] += taken

    def add_report(self, report, root):
        """One object's report, as `gcov --json-format` writes it."""
        base = report['current_working_directory']
        for file in report['files']:
            path = os.path.relpath(os.path.normpath(os.path.join(base, file['file'])), root)
            if not path.startswith(FOLDER):
                continue
            for line in file['lines']:
                self.add(path, line['line_number'], line['count'],
                         [branch['count'] for branch in line['branches']])


class Sum:
    def __init__(self):
        self.lines = self.lines_passed = self.branches = self.branches_passed = 0

    def add(self, how_often, branches):
        self.lines += 1
        self.lines_passed += how_often > 0
        self.branches += len(branches)
        self.branches_passed += sum(taken > 0 for taken in branches)

    def percent(self):
        return tuple(100.0 * passed / total if total else 100.0 for passed, total in
                     ((self.lines_passed, self.lines), (self.branches_passed, self.branches)))


def sums(counts, settings, text_of):
    """-> {folder: Sum}, with FOLDER for all of them, and how many lines each exclusion left out"""
    found, left_out = {}, [0] * len(settings.exclusions)
    for (path, line), how_often in counts.lines.items():
        index = settings.exclusion(path, text_of(path, line))
        if index is not None:
            left_out[index] += 1
            continue
        for folder in (os.path.dirname(path), FOLDER):
            found.setdefault(folder, Sum()).add(how_often, counts.branches[(path, line)])
    return found, left_out


def table(found):
    rows = [f'{"":16}{"lines":>8}{"passed":>9}{"branches":>11}{"passed":>9}']
    for folder in sorted(found, key=lambda name: (name == FOLDER, name)):
        total = found[folder]
        lines, branches = total.percent()
        rows.append(f'{folder:16}{total.lines:8}{lines:8.1f}%{total.branches:11}{branches:8.1f}%')
    return rows


def fallen(found, settings):
    """What is below what it had reached."""
    problems = []
    for folder, wanted in settings.reached.items():
        if folder not in found:
            problems.append(f'{folder} is in coverage.txt and not in the tree')
            continue
        for what, had, has in zip(('lines', 'branches'), wanted, found[folder].percent()):
            if has < had:
                problems.append(f'{folder}: {what} {has:.2f} %, had reached {had} %')
    problems += [f'{folder} is not in coverage.txt' for folder in found
                 if folder not in settings.reached]
    return problems


def stale(settings, left_out):
    """Exclusions of what is not there any more."""
    return [f'exclude {paths} /{regex.pattern}/ leaves nothing out'
            for (paths, regex, _), lines in zip(settings.exclusions, left_out) if lines == 0]


def distance(found, settings):
    """The goals, and how far it is to them."""
    parts = []
    for what, goal, has in zip(('lines', 'branches'), settings.goal, found[FOLDER].percent()):
        parts.append(f'{what} {goal:g} % ' +
                     ('is met' if has >= goal else f'is {goal - has:.1f} away'))
    return 'goal: ' + ', '.join(parts)


def missed(counts, settings, text_of, prefix):
    """file:line: what was not passed there"""
    rows = []
    for (path, line), how_often in sorted(counts.lines.items()):
        branches = counts.branches[(path, line)]
        text = text_of(path, line)
        if not path.startswith(prefix) or settings.exclusion(path, text) is not None:
            continue
        not_taken = [str(index) for index, taken in enumerate(branches) if taken == 0]
        if how_often == 0:
            rows.append(f'{path}:{line}: never      {text.strip()}')
        elif not_taken:
            rows.append(f'{path}:{line}: branch {",".join(not_taken):4} {text.strip()}')
    return rows


def not_whole(counts, settings, text_of):
    """What was not passed in files of which everything was; and what is no file any more."""
    problems = [f'every {paths}: there is no such file' for paths in settings.every
                if not fnmatch.filter({path for path, _ in counts.lines}, paths)]
    return problems + [row for row in missed(counts, settings, text_of, FOLDER)
                       if any(fnmatch.fnmatchcase(row.split(':')[0], paths)
                              for paths in settings.every)]


def data_files(path):
    return [os.path.join(folder, name) for folder, _, names in os.walk(path)
            for name in names if name.endswith('.gcda')]


def is_of_src(name):
    """Is this, below the build directory, of a source of ours? Some test programs compile one into themselves;
    what they do with headers is not counted."""
    return name.startswith(FOLDER) or '_src_' in os.path.basename(name)


def read_counts(path):
    """What the programs of the build directory `path` wrote when they ended."""
    counts = Counts()
    files = [file for file in data_files(path) if is_of_src(os.path.relpath(file, path))]
    for first in range(0, len(files), 50):
        said = subprocess.run(['gcov', '--branch-probabilities', '--json-format', '--stdout',
                               *files[first:first + 50]], cwd=path, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for line in said.splitlines():
            if line.startswith('{'):
                counts.add_report(json.loads(line), tree.ROOT)
    return counts


class Source:
    """Lines of the tree's files, each read once."""

    def __init__(self):
        self.files = {}

    def text_of(self, path, line):
        if path not in self.files:
            self.files[path] = tree.read(tree.ROOT, path).splitlines()
        lines = self.files[path]
        return lines[line - 1] if line <= len(lines) else ''


def run(path, keep, patterns):
    """-> how many tests failed"""
    if not keep:
        for file in data_files(path):
            os.remove(file)
    if keep and not patterns:
        return 0
    return run_tests.run_variant('coverage', None, patterns).failed


def main():
    parser = argparse.ArgumentParser(description='lines and branches of src/ that tests pass')
    parser.add_argument('--missed', metavar='prefix', help='list what was not passed')
    parser.add_argument('--keep', action='store_true', help='count what earlier runs left')
    parser.add_argument('--test', action='append', default=[], metavar='pattern',
                        help='run only programs whose name matches')
    options = parser.parse_args()
    with open(SETTINGS, encoding='utf-8') as file:
        settings = Settings(file.read())
    path = variants.directory('coverage')
    failed = run(path, options.keep, options.test)

    counts, source = read_counts(path), Source()
    if not counts.lines:
        raise SystemExit(f'coverage.py: no counts in {os.path.basename(path)}: nothing was run')
    found, left_out = sums(counts, settings, source.text_of)
    print()
    if options.missed is not None:
        print('\n'.join(missed(counts, settings, source.text_of, options.missed)))
        return 0
    print('\n'.join(table(found)))
    print('\nnot counted:')
    for (paths, regex, reason), lines in zip(settings.exclusions, left_out):
        print(f'  {lines:4} lines of {paths} with {regex.pattern}: {reason}')
    print('\n' + distance(found, settings))
    problems = fallen(found, settings) + not_whole(counts, settings, source.text_of) + stale(settings, left_out)
    if options.test:
        print('only some tests ran: not compared with what each folder had reached')
    elif problems:
        print('\n'.join(f'FALLEN {problem}' for problem in problems))
    else:
        print('no folder is below what it had reached (tools/coverage.txt)')
    if failed:
        print(f'{failed} tests failed')
    return 1 if failed or (problems and not options.test) else 0


if __name__ == '__main__':
    sys.exit(main())
