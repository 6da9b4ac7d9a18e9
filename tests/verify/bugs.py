#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drivers that are broken on purpose: `dxgk verify` names the rule, and the line.

usage: bugs.py --dxgk PROGRAM --cc OPENDXGK-CC --work FOLDER [--exerciser LIBRARY] [--all | --only NAME,…]
               [--build] [--jobs N] [--seconds S]

tests/verify/bugs/ has the table (README.md there). Some of each group are tried, or all: then the share that was found
is printed, and 95 % of them have to be. --build only sees that each edit can be made and compiles.

Seconds are those that the verification had a processor, so that a machine with other work to do gives the same answer; twenty times as
many by the clock, if the machine is so slow, are not exceeded.
"""
import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DRIVERS = {'example': [ROOT / 'examples/miniport'], 'soft': [ROOT / 'drivers/soft', ROOT / 'drivers/common']}
DEFINES = {'soft': ['-DGPU_DRIVER="soft"']}
SOURCES = {'example': ['driver.c', 'gpu.c']}
GOAL = 95
SLOWNESS = 20
WRONG_USAGE, NOT_STARTED = 2, 3     # exit codes

# What `make test` tries: one or two of each group.
SOME = ['stop-keeps-memory', 'entry-point-left-out', 'paging-node-behind-the-last', 'close-frees-nothing', 'submission-fails',
        'waits-at-dispatch-level', 'lock-is-not-released', 'completed-twice', 'completed-before-it-is-done',
        'resubmission-is-ignored', 'last-submitted-runs-first', 'pool-overrun', 'destroy-frees-the-first-only', 'starts-once',
        'power-is-not-supported', 'reset-device-waits', 'last-entry-is-left-out', 'allocation-in-no-segment',
        'preemption-of-nothing-is-not-answered', 'freed-twice', 'restart-fails']


class Mistake(Exception):
    """Something is wrong with the table."""


@dataclasses.dataclass
class Bug:
    name: str
    group: str
    driver: str = 'example'
    profile: dict = dataclasses.field(default_factory=dict)
    rules: list = dataclasses.field(default_factory=list)
    places: list = dataclasses.field(default_factory=list)
    edits: list = dataclasses.field(default_factory=list)     # [file, old lines, new lines]


# ---- the table ----

def read_table(folder):
    bugs = []
    for path in sorted(folder.glob('*.txt')):
        bugs += read_group(path)
    names = [bug.name for bug in bugs]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Mistake(f'there are two of {", ".join(sorted(twice))}')
    return bugs


def read_group(path):
    bugs, file = [], None
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        word, _, rest = line.partition(' ')
        if not line or word == '#':
            continue
        if word == '==':
            bugs.append(Bug(rest, path.stem))
            file = None
        elif line[0] in '-+' and file:
            add_line(bugs[-1].edits, file, line)
        elif word == 'file':
            file = rest
        elif word == 'driver' and rest in DRIVERS:
            bugs[-1].driver = rest
        elif word == 'profile':
            bugs[-1].profile = dict(setting.split('=') for setting in rest.split())
        elif word == 'rule':
            bugs[-1].rules = rest.split()
        elif word == 'at':
            bugs[-1].places = rest.split()
        else:
            raise Mistake(f'{path}:{number}: {line}')
    for bug in bugs:
        if not (bug.rules and bug.places and bug.edits):
            raise Mistake(f'{path}: {bug.name} has no rule, no place or no edit')
    return bugs


def add_line(edits, file, line):
    """Lines that go, then lines that come; the next that goes begins another edit."""
    if line[0] == '-':
        if not edits or edits[-1][0] != file or edits[-1][2]:
            edits.append([file, [], []])
        edits[-1][1].append(line[1:])
    else:
        edits[-1][2].append(line[1:])


def source_of(driver, name):
    return next((folder / name for folder in DRIVERS[driver] if (folder / name).exists()), DRIVERS[driver][0] / name)


def edited_sources(bug):
    """{file: text} of those that change."""
    texts = {}
    for file, old, new in bug.edits:
        text = texts.get(file) or source_of(bug.driver, file).read_text(encoding='utf-8')
        before = '\n'.join(old)
        if text.count(before) != 1:
            raise Mistake(f'{bug.name}: {file} has {text.count(before)} times:\n{before}')
        after = '\n'.join(new)
        if not new and before + '\n' in text:
            before += '\n'
        texts[file] = text.replace(before, after)
    return texts


# ---- building ----

class Builder:
    """Compiles what has changed, and keeps what has not."""

    def __init__(self, compiler, work):
        self.compiler = compiler
        self.cache = work / 'objects'
        self.cache.mkdir(parents=True, exist_ok=True)
        self.seen = hashlib.sha256()
        for path in sorted([*(ROOT / 'include').rglob('*.h'), *(path for folders in DRIVERS.values() for folder in folders for path in folder.glob('*.h'))]):
            self.seen.update(path.read_bytes())

    def run(self, *command):
        done = subprocess.run([str(self.compiler), *map(str, command)], capture_output=True, text=True)
        if done.returncode:
            raise Mistake(done.stderr or done.stdout)

    def compile(self, driver, source):
        key = self.seen.copy()
        key.update(str(source).encode() + source.read_bytes())
        made = self.cache / f'{key.hexdigest()[:32]}.o'
        if not made.exists():
            partial = made.with_suffix(f'.{os.getpid()}-{threading.get_ident()}.o')
            self.run('-c', *(f'-I{folder}' for folder in DRIVERS[driver]), f'-I{ROOT}/include', *DEFINES.get(driver, []), source, '-o', partial)
            os.replace(partial, made)
        return made

    def build(self, driver, changed, folder):
        """The driver in `folder`; the changed sources are there, too."""
        objects = []
        for name in SOURCES.get(driver) or sorted(path.name for folder in DRIVERS[driver] for path in folder.glob('*.c')):
            source = source_of(driver, name)
            if name in changed:
                source = folder / name
                source.write_text(changed[name], encoding='utf-8')
            objects.append(self.compile(driver, source))
        image = folder / f'{driver}.so'
        self.run('-shared', *objects, '-o', image)
        return image


# ---- judging ----

@dataclasses.dataclass
class Found:
    rule: str
    file: str
    function: str
    line: int

    def __str__(self):
        return f'{self.rule} at {self.file}:{self.line} in {self.function}'


def read_findings(report):
    """([Found, …], what was said about a driver that did not start)"""
    path = report / 'report.sarif'
    if not path.exists():
        return [], ''
    found, said = [], ''
    for run in json.loads(path.read_text(encoding='utf-8'))['runs']:
        for result in run.get('results', []):
            place = (result.get('locations') or [{}])[0]
            physical = place.get('physicalLocation', {})
            found.append(Found(result['ruleId'],
                               os.path.basename(physical.get('artifactLocation', {}).get('uri', '')),
                               (place.get('logicalLocations') or [{}])[0].get('name', '?'),
                               physical.get('region', {}).get('startLine', 0)))
        for invocation in run.get('invocations', []):
            for note in invocation.get('toolExecutionNotifications', []):
                said += note['message'].get('text', '') + '\n'
    return found, said


def lines_of(text, function):
    """First and last line of a function's definition; None: it is not there."""
    start = re.search(rf'^[\w*][^;{{}}]*?\b{re.escape(function)}\([^;{{}}]*\)\n\{{$', text, re.MULTILINE)
    if not start:
        return None
    end = text.index('\n}', start.end())
    return text.count('\n', 0, start.start()) + 1, text.count('\n', 0, end) + 2


def is_right_place(bug, finding, texts):
    """The line that is named is one of a function that is to blame, as the sources are now."""
    if finding.function not in bug.places or finding.file not in texts:
        return False
    lines = lines_of(texts[finding.file], finding.function)
    return bool(lines) and lines[0] <= finding.line <= lines[1]


def judge(bug, findings, said, texts):
    """None: that is it. Else what is missing."""
    right = [finding for finding in findings if finding.rule in bug.rules]
    may_start = '-' in bug.places
    if any(is_right_place(bug, finding, texts) or may_start for finding in right):
        return None
    if may_start and any(rule in said for rule in bug.rules):
        return None
    if right:
        return f'at another place: {right[0]}'
    if findings:
        return 'under another rule: ' + '; '.join(str(finding) for finding in findings[:3])
    return f'not at all: {said.strip().splitlines()[0]}' if said.strip() else 'not at all'


# ---- verifying ----

def run_counted(command, timeout):
    """(exit code, seconds of a processor, what it complained about); no code: it did not end."""
    with tempfile.TemporaryFile('w+') as complaints:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=complaints)
        is_late = threading.Event()
        alarm = threading.Timer(timeout, lambda: (is_late.set(), child.kill()))
        alarm.start()
        _, status, usage = os.wait4(child.pid, 0)
        alarm.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        complaints.seek(0)
        return None if is_late.is_set() else child.returncode, usage.ru_utime + usage.ru_stime, complaints.read()


class Verifier:
    def __init__(self, options):
        self.options = options
        self.builder = Builder(options.cc, options.work)

    def folder(self, bug):
        folder = self.options.work / bug.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def make(self, bug):
        """(image, {file: text}) of the edited driver."""
        folder = self.folder(bug)
        changed = edited_sources(bug)
        image = self.builder.build(bug.driver, changed, folder)
        texts = {path.name: path.read_text(encoding='utf-8') for folder in DRIVERS[bug.driver] for path in folder.glob('*.c')}
        return image, {**texts, **changed}

    def command(self, bug, image, report, first, last, seconds):
        command = [self.options.dxgk, 'verify', image, '--seeds', f'{first}..{last}', '--minutes', f'{seconds / 60:.3f}',
                   '--jobs', '1', '--report', report]
        if bug.driver == 'example':
            command += ['--exerciser', self.options.exerciser]
        if bug.profile:
            profile = image.with_suffix('.json')
            values = {name: int(value) if value.isdigit() else value for name, value in bug.profile.items()}
            profile.write_text(json.dumps({'adapters': [{'driver': str(image), 'registry': values}]}))
            command += ['--profile', profile]
        return [str(word) for word in command]

    def verify(self, bug):
        """(seconds it took, what is missing)"""
        image, texts = self.make(bug)
        missing = 'not at all'
        start, used = time.monotonic(), 0
        first, count = 0, 20
        while missing:
            left = min(self.options.seconds - used, SLOWNESS * self.options.seconds - (time.monotonic() - start))
            if left < 1:
                break
            report = image.parent / f'report{first}'
            code, seconds, said = run_counted(self.command(bug, image, report, first, first + count - 1, SLOWNESS * left),
                                              SLOWNESS * left + 20)
            used += seconds
            if code is None:
                missing = 'not at all: the verification did not end'
                break
            if code == WRONG_USAGE:
                raise Mistake(said)
            missing = judge(bug, *read_findings(report), texts)
            if code == NOT_STARTED:
                break
            first, count = first + count, count * 4
        return used, missing


# ---- telling ----

def outcomes(bugs, action, jobs):
    """(bug, seconds, what is missing, is the table wrong?), in the order of the table."""
    def one(bug):
        try:
            return (bug, *action(bug), False)
        except Mistake as mistake:
            return bug, 0, str(mistake), True

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, bugs)


def try_bugs(bugs, action, jobs, goal):
    """Were as many found as have to be? One that was not is something to do, as long as there are few of them."""
    found = 0
    is_right = True
    print(f'1..{len(bugs) + 1}', flush=True)
    for number, (bug, seconds, missing, is_mistake) in enumerate(outcomes(bugs, action, jobs), 1):
        found += not missing
        is_right &= not is_mistake
        for line in (missing or '').splitlines():
            print('#', line)
        todo = ' # TODO is not found' if missing and not is_mistake and goal < 100 else ''
        print(f"{'not ok' if missing else 'ok'} {number} - {bug.group}: {bug.name}, {seconds:.0f} s{todo}", flush=True)
    share = 100 * found / len(bugs)
    print(f"{'ok' if share >= goal else 'not ok'} {len(bugs) + 1} - {found} of {len(bugs)}, {share:.1f} %: {goal} % have to be found")
    return is_right and share >= goal


def choose(bugs, options):
    if options.all or options.build:
        return bugs
    for bug in bugs:        # the others are not tried today, but can be
        edited_sources(bug)
    names = options.only.split(',') if options.only else SOME
    unknown = set(names) - {bug.name for bug in bugs}
    if unknown:
        raise Mistake(f'there is no {", ".join(sorted(unknown))}')
    return [bug for bug in bugs if bug.name in names]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--dxgk', type=pathlib.Path)
    parser.add_argument('--cc', type=pathlib.Path, required=True)
    parser.add_argument('--exerciser', type=pathlib.Path)
    parser.add_argument('--work', type=pathlib.Path, required=True)
    parser.add_argument('--only')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--build', action='store_true')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--seconds', type=float, default=60)
    options = parser.parse_args()
    options.work = options.work.resolve()
    verifier = Verifier(options)
    bugs = choose(read_table(HERE / 'bugs'), options)

    def build(bug):
        start = time.monotonic()
        verifier.make(bug)
        return time.monotonic() - start, None

    return not try_bugs(bugs, build if options.build else verifier.verify, options.jobs, GOAL if options.all else 100)


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Mistake as mistake:
        sys.exit(f'bugs.py: {mistake}')
