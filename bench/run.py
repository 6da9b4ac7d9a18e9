#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py - what the project promises about speed, measured.

usage: run.py build-directory

Instructions (callgrind) are the same on every run. Times are ratios of two things measured in turn
on this machine. Exit status 1: a goal is missed; the last lines say which, on what processor, and what
of the machine was not still meanwhile. The numbers also go to bench/results.json in the build directory.
"""

import glob
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'view'))
import browser  # noqa: E402
from measure import all_instructions, instructions, numbers, quiet, run  # noqa: E402
from server_rows import bench_server_calls, bench_server_clients, bench_server_visitor, bench_server_ways  # noqa: E402

LIVE = [1_000, 10_000, 100_000, 1_000_000]
LIVE_ALLOCATIONS = [1_000, 10_000, 100_000, 1_000_000]
LIVE_RANGES = [1_000, 100_000, 1_000_000]
EVICTION_TIMES = ('1.10', '1.25', '1.50')
EVICTION_GOALS = {'cyclic': (1.02, 1.02, 1.02), 'shuffled': (1.12, 1.12, 1.12), 'drift': (1.15, 1.15, 1.15),
                  'apps': (1.15, 1.15, 1.15), 'phases': (1.12, 1.12, 1.12), 'mixed': (1.25, 1.40, 1.50),
                  'zipf-0.8': (1.47, 1.85, 2.00)}
# What programs do, and patterns: their means are told apart.
EVICTION_WORK = ('game', 'model', 'training', 'desktop')
# Four times what a use cost when a policy learned from each entry alone.
EVICTION_COSTS = {'cyclic': 4 * 256, 'zipf-0.8': 4 * 401, 'drift': 4 * 211}
SEEDS = 9
ALLOCATION_PAIRS = 5_000
TOUR_FRAMES = 10
NO_LAVAPIPE = 77
PAIRS = 100_000
CALLS = 200_000
ONE_COPY_ENGINE = '{"adapters": [{"driver": "soft", "name": "soft", "registry": {"CopyEngines": 1}}]}'
LITTLE_MEMORY = ('{"adapters": [{"driver": "soft", "name": "soft", '
                 '"registry": {"LocalMemoryMiB": 4, "ApertureMiB": 4}}]}')
ROUNDS = 11
VERIFY_SEEDS, VERIFY_SECONDS = 2_000, 180


def by_object(lines):
    """Sums up callgrind's lines: {library: self cost}, and the cost of all calls into soft.so."""
    names, own, object_name, callee = {}, {}, None, None
    inside, is_call = 0, False

    def name_of(text):
        number, _, name = text.partition(' ')
        return names.setdefault(number, os.path.basename(name))

    for line in lines:
        if line.startswith('ob='):
            object_name = name_of(line[3:].strip())
        elif line.startswith('cob='):
            callee = name_of(line[4:].strip())
        elif line.startswith('calls='):
            is_call = True
        elif line[:1].isdigit() or line[:1] in ('+', '-', '*'):
            words = line.split()
            cost = int(words[1]) if len(words) > 1 else 0
            if not is_call:
                own[object_name] = own.get(object_name, 0) + cost
            elif callee == 'soft.so' and object_name != 'soft.so':
                inside += cost
            if is_call:
                callee, is_call = None, False
    return own, inside


UMD_ROUNDS = 200
UMD_GPUS = {'virtual': {}, 'physical': {'AddressModel': 'physical'}, 'queues': {'HwQueues': 1}}


def umd_pairs():
    """The callbacks that become a D3DKMT call, from the table of them."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'umd', 'callbacks.def'), encoding='utf-8') as file:
        rows = re.findall(r'^PAIR\w*\((\w+), \w+,[^)]*?\bD3DKMT[A-Z][a-z]', file.read(), re.MULTILINE)
    return list(dict.fromkeys(rows))


def callback_costs(lines):
    """Of callgrind's lines: {callback: [calls of it, instructions outside libdxcore.so]}."""
    names, costs = {}, {}
    # The linker may have given it another name; parts that are kept elsewhere are called from it.
    callback = re.compile(r'umd_callback_(\w+)(?:\.lto_priv\.\d+)?$')
    function = library = called = None
    is_call = False

    def name_of(text):
        key, _, name = text.partition('=')
        number, _, name = name.strip().partition(' ')
        kind = 'ob' if key.endswith('ob') else 'fn'
        return names.setdefault((kind, number), name) if name else names[kind, number]

    def cost_of(name):
        found = callback.match(name or '')
        return costs.setdefault(found[1], [0, 0]) if found else None

    for line in lines:
        if line.startswith('fn='):
            function = cost_of(name_of(line))
        elif line.startswith('ob='):
            name_of(line)
        elif line.startswith('cob='):
            library = name_of(line)
        elif line.startswith('cfn='):
            called = cost_of(name_of(line))
        elif line.startswith('calls='):
            is_call = True
            if called is not None:
                called[0] += int(line[6:].split()[0])
        elif line[:1].isdigit() or line[:1] in ('+', '-', '*'):
            if function is not None and not (is_call and library and library.endswith('/libdxcore.so')):
                function[1] += int(line.split()[1])
            if is_call:
                is_call, library, called = False, None, None
    return costs


def bench_umd(build):
    """What a callback of a user-mode driver adds to the D3DKMT call that it becomes: all but the calls into libdxcore.so."""
    command = [os.path.join(build, 'bench', name) for name in ('umd_calls', 'bench_umd.so')]
    costs = {}
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        out, profile = os.path.join(folder, 'callgrind.out'), os.path.join(folder, 'profile.json')
        for gpu, registry in UMD_GPUS.items():
            with open(profile, 'w', encoding='utf-8') as file:
                json.dump({'adapters': [{'driver': 'soft', 'name': 'soft', 'registry': registry}]}, file)
            run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out}', *command, gpu, str(UMD_ROUNDS)], build,
                profile=profile)
            with open(out, encoding='utf-8') as file:
                for name, (calls, added) in callback_costs(file).items():
                    total = costs.setdefault(name, [0, 0])
                    total[0] += calls
                    total[1] += added
    missing = [name for name in umd_pairs() if costs.get(name, [0])[0] < UMD_ROUNDS]
    if missing:
        raise SystemExit(f'callbacks that umd_calls does not call: {", ".join(missing)}')
    return [{'what': f'pfn{name}Cb adds', 'unit': 'instructions', 'goal': 60, 'value': costs[name][1] / costs[name][0]}
            for name in umd_pairs()]


def pair_cost(build, live):
    """Instructions of one pair: (all, the driver's own, all that happens inside its entry points)."""
    program = os.path.join(build, 'bench', 'allocation_pairs')
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        out = os.path.join(folder, 'callgrind.out')
        run(['valgrind', '--tool=callgrind', '--collect-atstart=no',
             '--toggle-collect=exchange_allocations', f'--callgrind-out-file={out}',
             program, 'pairs', str(live), str(ALLOCATION_PAIRS)], build)
        with open(out, encoding='utf-8') as file:
            own, inside = by_object(file)
    return (sum(own.values()) / ALLOCATION_PAIRS, own.get('soft.so', 0) / ALLOCATION_PAIRS,
            inside / ALLOCATION_PAIRS)


def two_adapters(folder):
    """The name of a profile with two software GPUs."""
    name = os.path.join(folder, 'two.json')
    with open(name, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'soft', 'name': name}
                                for name in ('first', 'second')]}, file)
    return name


def bench_two_threads(build, program):
    """A process may be in one driver with one thread only, so devices on one adapter wait there."""
    rows = []
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        for what, goal, profile in (
                ('two threads on two devices / one thread', 1.7, two_adapters(folder)),
                ('  both devices on one adapter', 1.2, None)):
            rounds = numbers(run([program, 'threads', '1000', '100000', str(ROUNDS)], build,
                                 profile=profile))
            rows.append({'what': what, 'unit': 'times', 'is_at_least': True, 'goal': goal,
                         'value': statistics.median(two / one for one, two in rounds)})
    return rows


def bench_allocations(build):
    program = os.path.join(build, 'bench', 'allocation_pairs')
    costs = {live: pair_cost(build, live) for live in LIVE_ALLOCATIONS}
    rows = []
    for live, (total, own, inside) in costs.items():
        rows += [
            {'what': f'allocation pair, {live:,} live, driver excluded', 'value': total - inside,
             'unit': 'instructions', 'goal': 1100},
            {'what': '  with what the driver asks of the kernel', 'value': total - own,
             'unit': 'instructions'},
        ]
    first = costs[LIVE_ALLOCATIONS[0]]
    rows.append({'what': f'allocation pair, growth to {LIVE_ALLOCATIONS[-1]:,}', 'unit': 'times',
                 'value': max(total - own for total, own, _ in costs.values()) /
                          (first[0] - first[1]),
                 'goal': 1.1})
    rows.append({'what': 'memory of a live allocation', 'unit': 'bytes', 'goal': 512,
                 'value': float(run([program, 'memory', '100000'], build))})
    rows.append({'what': 'pairs made under strict seccomp', 'unit': '',
                 'value': int(run([program, 'strict', '1000'], build))})
    return rows + bench_two_threads(build, program)


TRACE_PROGRAMS, TRACE_ROUNDS, TRACE_PAIRS = 10, 40, 2_000
TRACE_LIVE = 4_096  # as beside lavapipe


def traced_time(build, folder):
    """How long a pair takes without a trace and with one, in ns: by the clock, programs of both kinds in turn. Rounds are shorter
    than what the machine gives anybody at a time, so that some of each kind are undisturbed: the best twentieth."""
    program = [os.path.join(build, 'bench', 'allocation_pairs'), 'threads', str(TRACE_LIVE), str(TRACE_PAIRS), str(TRACE_ROUNDS)]
    plain, traced = [], []
    for _ in range(TRACE_PROGRAMS):
        for rounds, trace in ((plain, None), (traced, os.path.join(folder, 'trace'))):
            rounds += [1 / one for one, _ in numbers(run(program, build, trace=trace))]
    best = TRACE_PROGRAMS * TRACE_ROUNDS // 20
    return sorted(plain)[best] * 1e9, sorted(traced)[best] * 1e9


def bench_traces(build):
    """Of an event, what a run with twice as many has more. Of the tour, the process with the clients and the kernel."""
    events = [os.path.join(build, 'bench', 'trace_events')]
    each = (all_instructions(build, [*events, str(2 * PAIRS)]) - all_instructions(build, [*events, str(PAIRS)])) / PAIRS
    pairs = [os.path.join(build, 'bench', 'allocation_pairs'), 'pairs', '1000', str(ALLOCATION_PAIRS)]
    tour = [os.path.join(build, 'cli', 'dxgk'), 'tour', '--quiet', '--frames', str(TOUR_FRAMES)]
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        traced = instructions(build, 'exchange_allocations', pairs, trace=os.path.join(folder, 'trace'))
        plain, slower = traced_time(build, folder)
    return [{'what': 'event of a trace', 'unit': 'instructions', 'goal': 150, 'value': each},
            {'what': 'allocation pair, traced / not', 'unit': 'times', 'goal': 1.3,
             'value': traced / instructions(build, 'exchange_allocations', pairs)},
            {'what': '  by the clock', 'unit': 'times', 'goal': 1.3, 'value': slower / plain},
            {'what': 'tour, traced / not', 'unit': 'times', 'goal': 1.15,
             'value': all_instructions(build, tour) / all_instructions(build, [*tour, '--no-trace'])}]


PAGE_ROUNDS, PAGE_FRAMES = 3, 1450
# How long a frame takes while the page is panned, zoomed out and in: the slowest of the medians.
PAN = """(() => Math.max(...[1, 0.3, 0.05, 0.005].map((span) => {
    page.view.show(page.model.length * 0.2, page.model.length * (0.2 + span));
    const frames = [];
    for (let i = 0; i < 31; i++) {
        page.view.pan(0.02);
        page.drawNow();
        frames.push(page.frameMs);
    }
    return frames.sort((a, b) => a - b)[15];
})))()"""
PARSE = """(async () => {
    const text = await (await fetch("file://%s")).text();
    const begin = performance.now();
    window.parsed = JSON.parse(text);
    return performance.now() - begin;
})()"""


def bench_page(build):
    """A million events: the page's size, and times as multiples of what the same browser needs to parse them as JSON."""
    if not browser.program():
        return [{'what': 'page of a million events', 'unit': 'skipped: there is no Chromium', 'value': 0}]
    dxgk = os.path.join(build, 'cli', 'dxgk')
    first, pan, parse = [], [], []
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        trace, page, text, nothing = (os.path.join(folder, name) for name in ('trace', 'view.html', 'trace.json', 'nothing.html'))
        run([dxgk, 'tour', '--frames', str(PAGE_FRAMES), '--quiet', '--trace', trace], build)
        run([dxgk, 'view', trace, '-o', page], build)
        run([dxgk, 'trace', '--convert', trace, '-o', text], build)
        with open(nothing, 'w', encoding='utf-8') as file:
            file.write('<!DOCTYPE html><title>nothing</title>')
        with browser.Browser(patience=600, arguments=['--allow-file-access-from-files']) as shown:
            for _ in range(PAGE_ROUNDS):
                shown.open(f'file://{nothing}')
                parse.append(shown.evaluate(PARSE % text))
                shown.open(f'file://{page}')
                shown.until('window.page !== undefined && page.frames > 0')
                first.append(shown.evaluate('page.firstMs'))
                pan.append(shown.evaluate(PAN))
            events = shown.evaluate('page.model.header.events')
        size = os.path.getsize(page)
    million = 1_000_000 / events
    return [{'what': 'page of a million events', 'unit': 'MB', 'goal': 8, 'value': size * million / 1e6},
            {'what': '  first picture / JSON.parse', 'unit': 'times', 'goal': 3, 'value': min(first) / min(parse)},
            {'what': '  frame while panning / JSON.parse', 'unit': 'times', 'goal': 0.05, 'value': min(pan) / min(parse), 'digits': 4}]


def bench_lavapipe(build):
    program = os.path.join(build, 'bench', 'vulkan_pairs')
    rows = []
    for label, size_bytes in (('64 KiB', 65536), ('1 MiB', 1 << 20)):
        what = f'pair / lavapipe pair, 4,096 of {label}'
        # Where their pages lie makes one program faster than the next: so several.
        texts = [run([program, str(size_bytes), '4096', '5000', '21'], build, NO_LAVAPIPE)
                 for _ in range(9 if os.path.exists(program) else 0)]
        if not texts or None in texts:
            rows.append({'what': what, 'unit': 'skipped: there is no lavapipe', 'value': 0})
            continue
        ours, theirs = zip(*numbers(''.join(texts)))
        rows.append({'what': what, 'unit': 'times', 'goal': 0.4,
                     'value': quiet(ours) / quiet(theirs)})
    return rows


def bench_fences(build):
    program = os.path.join(build, 'bench', 'vulkan_fences')
    pairs = os.path.join(build, 'bench', 'fence_pairs')
    strict = run([pairs, 'strict', '20000'], build)
    rows = [{'what': 'fence pairs made under strict seccomp', 'unit': '', 'value': int(strict)}]
    rows += [{'what': f'fence {what}', 'unit': 'instructions',
              'value': instructions(build, function, [pairs, '1000']) / 1000}
             for what, function in (('signal and wait', 'signal_and_wait'),
                                    ('create and destroy', 'create_and_destroy'))]
    for what, verb, goal in (('signal and wait / lavapipe', 'signal', 1.1),
                             ('create and destroy / lavapipe', 'create', 1.2)):
        text = None
        if os.path.exists(program):
            text = run([program, verb, '20000', '21'], build, NO_LAVAPIPE)
        if text is None:
            rows.append({'what': f'fence {what}', 'unit': 'skipped: there is no lavapipe',
                         'value': 0})
            continue
        rounds = numbers(text)
        rows += [
            {'what': f'fence {verb} pair', 'unit': 'ns',
             'value': statistics.median(ours for ours, _ in rounds)},
            {'what': f'fence {what}', 'unit': 'times', 'goal': goal,
             'value': statistics.median(ours / theirs for ours, theirs in rounds)},
        ]
    return rows


def bench_handles(build):
    program = os.path.join(build, 'bench', 'handle_pairs')
    counts = {live: instructions(build, 'exchange_handles', [program, str(live), str(PAIRS)]) / PAIRS
              for live in LIVE}
    first = counts[LIVE[0]]
    rows = [{'what': f'handle pair, {live:,} live', 'value': count, 'unit': 'instructions'}
            for live, count in counts.items()]
    rows.append({'what': f'handle pair, growth to {LIVE[-1]:,}', 'unit': 'times',
                 'value': max(counts.values()) / first, 'goal': 1.1})
    return rows


def bench_spaces(build):
    """Ranges of a segment: what a pair costs, how much of the segment can be used."""
    program = os.path.join(build, 'bench', 'space_churn')
    counts = {live: instructions(build, 'exchange_ranges',
                                 [program, 'pairs', str(live), str(PAIRS)]) / PAIRS
              for live in LIVE_RANGES}
    rows = [{'what': f'range pair, {live:,} live', 'value': count, 'unit': 'instructions',
             'goal': 580}
            for live, count in counts.items()]
    rows.append({'what': f'range pair, growth to {LIVE_RANGES[-1]:,}', 'unit': 'times',
                 'value': max(counts.values()) / counts[LIVE_RANGES[0]], 'goal': 1.1})
    for how, goal in (('contiguous', 0.87), ('scattered', 0.998)):
        (share, runs), = numbers(run([program, how, '8'], build))
        rows.append({'what': f'{how}, share of 8 GiB in use', 'unit': '', 'value': share,
                     'goal': goal, 'is_at_least': True, 'digits': 4})
    rows.append({'what': '  runs of an allocation', 'unit': '', 'value': runs})
    return rows


def bench_eviction(build):
    """Bytes that the policies move, each as a multiple of Belady's; the median of the seeds."""
    program = os.path.join(build, 'bench', 'eviction')
    rows, above_lru, patterns, work = [], [], [], []
    for line in run([program, str(SEEDS)], build).splitlines():
        kind, times, lru, adaptive, worst = line.split()
        row = {'what': f'{kind} {times}, adaptive / Belady', 'unit': f'lru {float(lru):.2f}',
               'value': float(adaptive)}
        goals = EVICTION_GOALS.get(kind)
        rows.append({**row, 'goal': goals[EVICTION_TIMES.index(times)]} if goals else row)
        above_lru.append(float(worst))
        (work if kind in EVICTION_WORK else patterns).append(float(adaptive))
    rows += [{'what': 'patterns, geometric mean', 'unit': 'times', 'digits': 3, 'goal': 1.16,
              'value': statistics.geometric_mean(patterns)},
             {'what': 'work of programs, geometric mean', 'unit': 'times', 'digits': 3,
              'value': statistics.geometric_mean(work)},
             {'what': 'adaptive / lru, worst of all', 'unit': 'times', 'value': max(above_lru),
              'goal': 1.12}]
    for kind, goal in EVICTION_COSTS.items():
        uses = int(run([program, 'cost', kind], build))
        rows.append({'what': f'a use, {kind} 1.25', 'unit': 'instructions', 'goal': goal,
                     'value': instructions(build, 'replay_alone', [program, 'cost', kind]) / uses})
    return rows


def bench_gpuva(build):
    """The bookkeeping of GPU addresses alone: no page tables are written."""
    program = os.path.join(build, 'bench', 'gpuva_pairs')
    counts = {live: instructions(build, 'exchange_mappings',
                                 [program, 'map', str(live), str(PAIRS)]) / PAIRS
              for live in LIVE}
    small, huge = (instructions(build, 'exchange_reservations',
                                [program, 'reserve', str(size_bytes), '1000']) / 1000
                   for size_bytes in (1 << 16, 1 << 46))
    rows = [{'what': f'GPU address pair, {live:,} live', 'value': count, 'unit': 'instructions',
             **({'goal': 1388} if live == 100_000 else {})}
            for live, count in counts.items()]
    rows.append({'what': f'GPU address pair, growth to {LIVE[-1]:,}', 'unit': 'times',
                 'value': max(counts.values()) / counts[LIVE[0]], 'goal': 1.5})
    rows.append({'what': 'reserving 2^46 bytes / 64 KiB', 'unit': 'times', 'value': huge / small,
                 'goal': 1.0})
    for name, extra in (('', []), (', large pages', ['large'])):
        writes = [numbers(run([os.path.join(build, 'bench', 'table_writes'), '16384', '1', *extra],
                              build))[0] for _ in range(ROUNDS)]
        rows.append({'what': f'page-table writes, 16 GiB contiguous{name}', 'unit': 'GB/s',
                     'value': statistics.median(tables for tables, _ in writes) / 1e9})
        rows.append({'what': f'page-table writes{name} / memset', 'unit': 'times', 'goal': 0.5,
                     'is_at_least': True,
                     'value': statistics.median(a / b for a, b in writes)})
    return rows


def bench_device_state(build):
    program = os.path.join(build, 'bench', 'device_state')
    rounds = numbers(run([program, str(CALLS), str(ROUNDS)], build))
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


def bench_wine(build):
    """The same call of a Windows program: what it costs more than an empty call into a Unix library does, beside Linux'."""
    what = 'call under Wine, less an empty one / Linux'
    exe = os.path.join(build, 'bench', 'wine_calls.exe')
    if not os.path.exists(exe):
        return [{'what': what, 'unit': 'skipped: there is no mingw', 'value': 0}]
    ratios, empties = [], []
    # Wine's own server stays for some seconds, and writes when it goes.
    with tempfile.TemporaryDirectory(prefix='bench-', ignore_cleanup_errors=True) as folder:
        wine = [os.path.join(build, 'cli', 'dxgk'), 'wine', '--prefix', folder, exe, str(CALLS), '3']
        for _ in range(ROUNDS):
            here = statistics.median(state for state, _ in numbers(
                run([os.path.join(build, 'bench', 'device_state'), str(CALLS), '3'], build)))
            shown = run(wine, build, may_exit_with=127)
            if shown is None:
                return [{'what': what, 'unit': 'skipped: there is no Wine', 'value': 0}]
            there = statistics.median(state for state, _ in numbers(shown))
            empties.append(statistics.median(empty for _, empty in numbers(shown)))
            ratios.append((there - empties[-1]) / here)
    return [{'what': 'empty call of a Unix library', 'unit': 'ns', 'value': statistics.median(empties)},
            {'what': what, 'unit': 'times', 'goal': 1.5, 'value': statistics.median(ratios)}]


def bench_residency(build):
    """What is resident made resident again; offered and reclaimed without being touched."""
    program = os.path.join(build, 'bench', 'residency_calls')
    rounds = numbers(run([program, 'resident', '20000', '21'], build))
    offers = instructions(build, 'offer_and_reclaim', [program, 'offers', '1000']) / 1000
    return [
        {'what': 'MakeResident of what is / getppid()', 'unit': 'times', 'goal': 1.0,
         'value': statistics.median(ours / system for ours, system in rounds)},
        {'what': 'offer and reclaim, 1 MiB', 'unit': 'instructions', 'value': offers,
         'goal': 1500},
        {'what': 'both made under strict seccomp', 'unit': '',
         'value': int(run([program, 'strict', '10000'], build))},
    ]


def bench_commands(build):
    """Both at their best, of several processes: where the system puts the threads that wake each
    other is a factor of five, for either of them, and stays so as long as a process lives."""
    program = os.path.join(build, 'bench', 'command_turns')
    rounds = [row for _ in range(8) for row in numbers(run([program, '200', '5'], build))]
    ours = min(ours for ours, _ in rounds)
    return [
        {'what': 'empty command, submitted to seen', 'unit': 'ns', 'value': ours},
        {'what': '  / two threads in turn', 'unit': 'times', 'goal': 2.0,
         'value': ours / min(threads for _, threads in rounds)},
    ]


def bench_residency_turns(build):
    """At their best, of several processes, all threads on one processor: else most of it is how deep
    the other one sleeps."""
    program = os.path.join(build, 'bench', 'residency_turns')
    rows = []
    with tempfile.NamedTemporaryFile('w', suffix='.json') as profile:
        profile.write(LITTLE_MEMORY)
        profile.flush()
        for how, title in (('free', 'MakeResident of 64 KiB, room is free'),
                           ('evict', 'MakeResident of 64 KiB, one evicted')):
            rounds = [row for _ in range(8)
                      for row in numbers(run(['taskset', '-c', '0', program, how, '200', '5'], build,
                                             profile=profile.name if how == 'evict' else None))]
            ours = min(ours for ours, _ in rounds)
            rows += [{'what': title, 'unit': 'ns', 'value': ours},
                     {'what': '  / two threads in turn', 'unit': 'times',
                      'value': ours / min(threads for _, threads in rounds)}]
    return rows


GROWTH_RUNS = {1_000: 9, 100_000: 5, 1_000_000: 2}
GROWTH_VICTIMS = 200
# (resident of others, wanted, own): very many of them, and of who asks the oldest of all.
GROWTH_WANTED = {'40,000 wanted of 100,000': (100_000, 40_000, 0), 'for the owner of the 50,000 oldest': (52_000, GROWTH_VICTIMS, 50_000)}
GROWTH_WANTED_RUNS = 3


def growth_profile(folder, many):
    path = os.path.join(folder, f'{many}.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'soft', 'name': 'soft', 'registry': {
            'LocalMemoryMiB': -(-many * 4 // 1024) + 2, 'ApertureMiB': 64}}]}, file)
    return path


def bench_growth(build):
    """What one of many costs more than one of few, in processor time: victims of somebody who has as many resident, and the end
    of a device. Many are slow to make: so there are fewer runs of them. For a victim several threads wake each other in turn, and
    waking another processor costs more than all else (three times as much in a virtual machine): after the long bringing in
    of many the system spreads threads that it leaves together after that of few. So all of them are on one processor."""
    growth = ['taskset', '-c', '0', os.path.join(build, 'bench', 'growth')]
    victims, ends, wanted = {}, {}, {}
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        for many, runs in GROWTH_RUNS.items():
            profile = growth_profile(folder, many)
            victims[many] = quiet([float(run([*growth, 'victims', str(many), str(GROWTH_VICTIMS)], build, profile=profile))
                                   for _ in range(runs)])
            ends[many] = quiet([float(run([*growth, 'device', str(many)], build)) for _ in range(runs)])
        for what, counts in GROWTH_WANTED.items():
            wanted[what] = quiet([float(run([*growth, 'victims', *map(str, counts)], build,
                                            profile=growth_profile(folder, counts[0] + counts[2])))
                                  for _ in range(GROWTH_WANTED_RUNS)])
    few, *others = GROWTH_RUNS
    return [{'what': f'a victim, {few:,} resident', 'unit': 'ns', 'value': victims[few]},
            *({'what': f'  growth to {many:,}', 'unit': 'times', 'goal': 1.2, 'value': victims[many] / victims[few]}
              for many in others),
            *({'what': f'  growth to {what}', 'unit': 'times', 'goal': 1.2, 'value': ns / victims[few]}
              for what, ns in wanted.items()),
            {'what': f'end of a device, each of {few:,}', 'unit': 'ns', 'value': ends[few]},
            *({'what': f'  growth to {many:,}', 'unit': 'times', 'goal': 1.2, 'value': ends[many] / ends[few]}
              for many in others)]


def bench_idle_destroy(build):
    program = os.path.join(build, 'bench', 'idle_destroy')
    bare, idle = (instructions(build, 'destroy_one', [program, how, '2000']) / 2000
                  for how in ('bare', 'idle'))
    return [{'what': 'destroy, what an idle GPU adds', 'unit': 'instructions', 'goal': 200,
             'value': idle - bare}]


PLAIN_KINDS = ('memcpy', 'rep', 'stream')


def fastest(columns):
    """Of the plain copies (bench/plain_copies.h): how long a byte takes, and which it was."""
    times = [quiet([1 / rate for rate in rates]) for rates in columns]
    return min(times), PLAIN_KINDS[times.index(min(times))]


def bench_paging(build):
    """What MakeResident and Evict move, beside the fastest way in which plain threads copy as much on this machine: which
    that is, and how large the caches are, is the processor's and libc's choice, so the row says it and memory is cold. One
    copies on one processor for both, because two of a virtual machine are not equally fast. Where their pages lie makes one
    program faster than the next: so several."""
    program = os.path.join(build, 'bench', 'paging_moves')
    goals = {('in', 1): 0.95, ('out', 1): 0.95}
    rows = []
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        profile = os.path.join(folder, 'profile.json')
        with open(profile, 'w', encoding='utf-8') as file:
            file.write(ONE_COPY_ENGINE)
        for engines, chosen, where in ((1, profile, ['taskset', '-c', '0']), (2, None, [])):
            texts = [run([*where, program, '7'], build, profile=chosen) for _ in range(5)]
            columns = list(zip(*numbers(''.join(texts))))
            one_way, both_ways, fills = (fastest(columns[first:first + 3]) for first in (4, 7, 10))
            for (what, peer), rates in zip((('in', one_way), ('out', one_way), ('both', both_ways), ('fill', fills)), columns):
                plain, kind = peer
                row = {'what': f'paging {what}, {engines} engine{"s"[:engines - 1]} / a plain copy', 'unit': f'times {kind}',
                       'value': plain / quiet([1 / rate for rate in rates])}
                # A fill by two is beside stores of two, which nobody promised.
                is_promised = what != 'fill' or engines == 1
                rows.append({**row, 'goal': goals.get((what, engines), 0.9), 'is_at_least': True} if is_promised else row)
    return rows


def content(name):
    """Of a file of the host's; '' where it has none."""
    try:
        with open(name, encoding='utf-8') as file:
            return file.read().strip()
    except OSError:
        return ''


def processor():
    """Its name, and how many of them we may use."""
    name = re.search(r'^model name\s*: (.*)$', content('/proc/cpuinfo'), re.MULTILINE)
    return f'{name.group(1) if name else "unknown processor"}, {len(os.sched_getaffinity(0))} of them'


def processor_seconds():
    """What all processes have had until now, and what ours had."""
    ticks = [int(word) for word in re.match(r'cpu +([\d ]+)', content('/proc/stat')).group(1).split()]
    busy = sum(ticks[:3]) + sum(ticks[5:7])  # neither idle nor taken by the host below
    stolen = ticks[7] if len(ticks) > 7 else 0
    ours = sum(resource.getrusage(who)[0] + resource.getrusage(who)[1]
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    per_second = os.sysconf('SC_CLK_TCK')
    return busy / per_second, stolen / per_second, ours


def unsteady(before, after):
    """What changes times and is not ours to hold still."""
    busy, stolen, ours = (b - a for a, b in zip(before, after))
    found = [f'others had {busy - ours:.0f} s of the processors, we {ours:.0f} s'] if busy - ours > 0.05 * ours else []
    if stolen > 0.01 * ours:
        found.append(f'{stolen:.0f} s were taken by the host below')
    governor = content('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')
    if governor not in ('', 'performance'):
        found.append(f'the frequency follows the load (governor {governor})')
    if content('/sys/devices/system/cpu/cpufreq/boost') == '1' or \
            content('/sys/devices/system/cpu/intel_pstate/no_turbo') == '0':
        found.append('the frequency is boosted while it is cool')
    if content('/sys/devices/system/cpu/smt/active') == '1':
        found.append('two threads share a core')
    if re.search(r'^flags.* hypervisor', content('/proc/cpuinfo'), re.MULTILINE):
        found.append('it is a virtual machine: waking another processor takes tens of microseconds')
    return found


def bench_verify(build):
    """The example driver as `dxgk verify` takes it when nobody says more: 2,000 seeds have three minutes of two processors."""
    example = os.path.join(build, 'examples', 'miniport')
    with tempfile.TemporaryDirectory(prefix='bench-') as folder:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        run([os.path.join(build, 'cli', 'dxgk'), 'verify', os.path.join(example, 'minigpu.so'),
             '--exerciser', os.path.join(example, 'exerciser.so'), '--jobs', '2', '--report', folder], build)
        took, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(os.path.join(folder, 'results.jsonl'), encoding='utf-8') as file:
            runs = [line for line in map(json.loads, file) if line['type'] == 'run']
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seeds = len({run['seed'] for run in runs})
    return [{'what': 'verify, seeds', 'unit': '/ core-second', 'value': seeds / busy, 'goal': VERIFY_SEEDS / (2 * VERIFY_SECONDS),
             'is_at_least': True},
            {'what': 'verify, runs', 'unit': '/ core-second', 'value': len(runs) / busy},
            {'what': f'verify, {seeds:,} seeds on two processors', 'unit': 'seconds', 'value': took, 'goal': VERIFY_SECONDS}]


def bench_clients(build):
    """Debian's OpenCL driver for Intel lists a device of ours; beside it, it finds none. Whenever it makes a device it loads
    its compiler, to ask that for the size of arguments: none of ours, and alone more than the goal. So that is measured, too,
    and the goal is for what is left without it. What `clinfo` asks without -l has the compiler build kernels."""
    what = 'clinfo -l'
    client = [os.path.join(build, 'cli', 'dxgk'), 'client', '--']
    if not glob.glob('/etc/OpenCL/vendors/intel*.icd') or not shutil.which('clinfo') or os.path.isdir('/dev/dri'):
        return [{'what': what, 'unit': 'skipped: there is no intel-opencl-icd, or a /dev/dri', 'value': 0}]
    if subprocess.run([*client, 'true'], capture_output=True, check=False).returncode != 0:
        return [{'what': what, 'unit': 'skipped: namespaces are forbidden', 'value': 0}]
    sides = {'ours': ([*client, 'clinfo', '-l'], ''), 'none': (['clinfo', '-l'], ''),
             'compiler': (['clinfo', '-l'], 'libigdfcl.so.1 libigc.so.1'),
             'all of ours': ([*client, 'clinfo'], ''), 'all of none': (['clinfo'], '')}
    rounds = {side: [] for side in sides}
    for _ in range(ROUNDS):
        for side, (command, loaded) in sides.items():
            start = time.monotonic()
            done = subprocess.run(command, env={**os.environ, 'LD_PRELOAD': loaded}, capture_output=True, text=True, check=True)
            rounds[side].append(time.monotonic() - start)
            if ('Intel(R) Graphics [0x1912]' in done.stdout) != ('ours' in side):
                raise SystemExit(f'clinfo, {side}: {done.stdout}{done.stderr}')
    took = {side: quiet(times) for side, times in rounds.items()}
    left = took['ours'] - (took['compiler'] - took['none'])
    return [{'what': f'{what} / no device', 'unit': 'times', 'value': took['ours'] / took['none']},
            {'what': '  its compiler alone / no device', 'unit': 'times', 'value': took['compiler'] / took['none']},
            {'what': '  without its compiler / no device', 'unit': 'times', 'goal': 4, 'value': left / took['none']},
            {'what': 'clinfo / no device', 'unit': 'times', 'value': took['all of ours'] / took['all of none']}]


def verdict(row):
    if 'goal' not in row:
        return ''
    is_met = row['value'] >= row['goal'] if row.get('is_at_least') else row['value'] <= row['goal']
    return 'ok' if is_met else 'missed'


def main(arguments):
    if len(arguments) != 1:
        raise SystemExit('usage: run.py build-directory')
    build = os.path.abspath(arguments[0])
    if not os.path.exists(os.path.join(build, 'bench', 'device_state')):
        raise SystemExit(f'{build}/bench: there are no benchmarks; build them first')
    before = processor_seconds()
    rows = []
    for bench in (bench_device_state, bench_umd, bench_wine, bench_handles, bench_allocations, bench_traces, bench_page, bench_spaces,
                  bench_eviction, bench_gpuva, bench_lavapipe, bench_fences, bench_residency,
                  bench_commands, bench_residency_turns, bench_growth, bench_idle_destroy, bench_paging,
                  bench_server_ways, bench_server_calls, bench_server_clients,
                  bench_server_visitor, bench_verify, bench_clients):
        rows += bench(build)
    for row in rows:
        sign = '>=' if row.get('is_at_least') else '<='
        goal = f'{sign} {row["goal"]:.4g}' if 'goal' in row else ''
        print(f'{row["what"]:<36} {row["value"]:>12,.{row.get("digits", 2)}f} {row["unit"]:<13}{goal:<9} {verdict(row)}')
    with open(os.path.join(build, 'bench', 'results.json'), 'w', encoding='utf-8') as file:
        json.dump([{**row, 'verdict': verdict(row)} for row in rows], file, indent=2)
    missed = [row['what'].strip() for row in rows if verdict(row) == 'missed']
    print(processor())
    for what in unsteady(before, processor_seconds()):
        print(f'  not still: {what}')
    print(f'{len(missed)} missed: {"; ".join(missed)}' if missed else 'every goal is met')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
