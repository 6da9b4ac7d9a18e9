#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults_test.py - plans of faults (DXGK_FAULT) do what they say, to a driver that stands them, and do it again.

usage: faults_test.py path-of-dxgk path-of-project [sanitized]

`sanitized`: each run takes several times as long, and some of them are tried.
"""

import hashlib
import json
import os
import re
import subprocess
import sys

DXGK, PROJECT = sys.argv[1:3]
STEP = 4 if 'sanitized' in sys.argv[3:] else 1
sys.path.insert(0, os.path.join(PROJECT, 'tools'))
import tap  # noqa: E402

# What a right driver stands whatever the seed: the script's own checks of content hold.
HARMLESS = ['interrupt-lost 3', 'interrupt-lost 9', 'interrupt-doubled 3', 'interrupt-late 3ms',
            'interrupt-reordered', 'late-dpc 500ms', 'evict-always', 'move-always', 'small-tables',
            'time-jump 3600s', 'late-dpc 1ms; interrupt-reordered; small-tables']


def run(root, fault, script='oversubscription', seed=7, registry=None, **more):
    profile = os.path.join(root, 'profile.json')
    with open(profile, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'soft', 'registry': {'LocalMemoryMiB': 64,
                                                                **(registry or {})}}]}, file)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    environment.update(DXGK_SEED=str(seed), DXGK_FAULT=fault, DXGK_PROFILE=profile, **more)
    path = script if os.path.isabs(script) else os.path.join(PROJECT, 'examples', script + '.dxgk')
    return subprocess.run([DXGK, 'run', path], env=environment, capture_output=True, text=True,
                          check=False, timeout=100)


def reports(done):
    return [line for line in done.stderr.splitlines() if re.match(r'dxgk: driver: .*\((DDI|NT)-[A-Z-]+\)$', line)]


def test_what_a_driver_stands_changes_no_content_and_breaks_no_rule(root):
    for fault in HARMLESS[::STEP]:
        for seed in (1, 2):
            done = run(root, fault, seed=seed)
            assert done.returncode == 0, (fault, seed, done.stdout, done.stderr)
            assert reports(done) == [], (fault, seed, done.stderr)


def test_each_allocation_of_a_start_may_fail(root):
    refused = 0
    for number in range(1, 200, STEP):
        done = run(root, f'memory-nth {number}', script='first_fill')
        assert reports(done) == [], (number, done.stderr)
        assert done.returncode >= 0, (number, done.stderr)
        refused += 'did not start' in done.stderr
        if done.returncode == 0 and 'did not start' not in done.stderr and number > 60:
            break
    assert refused > 3 // STEP, refused


def test_an_adapter_that_is_reset_or_removed_loses_devices_and_nothing_else(root):
    for fault in ('reset-at 40', 'remove-at 40'):
        done = run(root, fault)
        assert done.returncode >= 0, (fault, done.stderr)
        assert reports(done) == [], (fault, done.stderr)


def test_the_same_plan_and_seed_give_the_same_trace(root):
    for fault in ('memory-random 3', 'interrupt-late 2ms', 'evict-always'):
        traces = []
        for number in range(2):
            trace = os.path.join(root, f'trace{number}')
            run(root, fault, DXGK_TRACE=trace)
            with open(trace, 'rb') as file:
                traces.append(hashlib.sha256(file.read()).hexdigest())
        assert traces[0] == traces[1], fault


def test_packets_are_preempted_where_each_is(root):
    done = run(root, '', script='first_fill', registry={'PreemptAlways': 1}, DXGK_LOG='calls')
    assert done.returncode == 0, done.stderr
    assert reports(done) == [], done.stderr
    assert done.stderr.count('DxgkDdiPreemptCommand') > 3, done.stderr


def test_defects_of_the_software_gpu_are_noticed(root):
    def defect(kind, at):
        return run(root, 'late-dpc 1us', script='first_fill',
                   registry={'Defect': kind, 'DefectAt': at})
    assert any('DDI-COMPLETION-FENCE' in line for line in reports(defect('wrong-fence', 2)))
    assert defect('hang', 2).returncode != 0
    assert defect('slow', 2).returncode == 0
    assert any(defect('wrong-bytes', at).returncode != 0 for at in range(1, 7))


def test_changed_commands_come_to_the_driver_by_address_and_by_list(root):
    for model, lists, called in (('gpummu', '', 'DxgkDdiSubmitCommandVirtual'), ('physical', ' list', 'DxgkDdiRender')):
        script = os.path.join(root, f'{model}.dxgk')
        place = 'map a\n' if not lists else ''
        with open(script, 'w', encoding='utf-8') as file:
            file.write(f'client c\ncontext x c node 0{lists}\nallocate a c 4K contiguous\n{place}resident a\n'
                       + ''.join(f'fuzz submit x {number}\n' for number in range(12)) + 'try wait x\n')
        done = run(root, '', script=script, registry={'AddressModel': model}, DXGK_LOG='calls')
        assert done.returncode == 0 and reports(done) == [], done.stderr[-2000:]
        calls = [line for line in done.stderr.splitlines() if called + '(' in line and 'Flags 0x1)' not in line]
        # Of the other model the first that faults costs the device.
        assert len(calls) >= (3 if lists else 1), (model, done.stderr[-2000:])


def test_what_chance_has_written_may_run_for_ever_and_is_not_waited_for(root):
    script = os.path.join(root, 'busy.dxgk')
    with open(script, 'w', encoding='utf-8') as file:
        # Of the changed commands with number 3 nothing is changed.
        file.write('client c apart\ncontext x c node 0\nallocate a c 4K\nmap a\nresident a\nfuzz submit x 3\n'
                   'submit x busy 3600s\ntry wait x\nclient d apart\ncontext y d node 0\nallocate b d 4K\n'
                   'map b\nresident b\nsubmit y fill b 7\nwait y\ncheck b 7\ndestroy c\n')
    done = run(root, '', script=script)
    assert done.returncode == 0 and reports(done) == [], (done.stdout, done.stderr)
    assert 'what it runs is not known, and may run for ever' in done.stderr, done.stderr


def test_a_plan_that_is_none_is_told(root):
    done = run(root, 'memory-nth')
    assert 'DXGK_FAULT: memory-nth is followed by a number from 1 on; nothing is made to fail' \
        in done.stderr, done.stderr
    assert done.returncode == 0


if __name__ == '__main__':
    tap.run_tests(globals())
