#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clean_test.py - a driver that keeps the rules is found nothing about, in whatever way it is set, and is really made to work.

usage: clean_test.py dxgk soft-driver soft-exerciser example-driver example-exerciser tools SEEDS [MORE]

SEEDS of each setting of the software GPU; MORE of its default and of the example driver.
"""

import collections
import json
import os
import subprocess
import sys

DXGK, SOFT, SOFT_EXERCISER, EXAMPLE, EXAMPLE_EXERCISER = map(os.path.abspath, sys.argv[1:6])
SEEDS = int(sys.argv[7])
MORE = int(sys.argv[8]) if len(sys.argv) > 8 else SEEDS
sys.path[:0] = [sys.argv[6], os.path.dirname(os.path.abspath(__file__))]
import reports  # noqa: E402
import tap  # noqa: E402

SMALL = {'LocalMemoryMiB': 16, 'ApertureMiB': 32}
SETTINGS = {
    'small memory': {'LocalMemoryMiB': 8, 'ApertureMiB': 16},
    'the physical model': {**SMALL, 'AddressModel': 'physical'},
    'DMA buffers in the aperture': {**SMALL, 'AddressModel': 'physical', 'DmaBuffersInAperture': 1},
    'memory lost by a reset, physical': {**SMALL, 'AddressModel': 'physical', 'LoseMemoryOnReset': 1, 'TdrLimitCount': 100000},
    'memory lost by a reset': {**SMALL, 'LoseMemoryOnReset': 1, 'TdrLimitCount': 100000},
    'hardware queues': {**SMALL, 'HwQueues': 1},
    'a CPU host aperture': {**SMALL, 'CpuHostApertureMiB': 1},
    'a CPU host aperture and 64 KiB pages': {**SMALL, 'CpuHostApertureMiB': 8, 'Pages64KiB': 'single'},
    'a CPU host aperture and pages of both sizes': {**SMALL, 'CpuHostApertureMiB': 1, 'Pages64KiB': 'dual'},
    'page tables in system memory': {**SMALL, 'PageTableUpdateMode': 'cpu_virtual'},
    'page tables by virtual address': {**SMALL, 'PageTableUpdateMode': 'gpu_virtual'},
    'two levels of page tables, one copy engine': {**SMALL, 'PageTableLevels': 2, 'CopyEngines': 1},
    'five levels of page tables, four copy engines': {**SMALL, 'PageTableLevels': 5, 'CopyEngines': 4},
    'updates of addresses on the 3D node': {**SMALL, 'PagingCompanionNode': '3d'},
    'updates of addresses on a copy node': {**SMALL, 'PagingCompanionNode': 'copy'},
}


def verify(driver, exerciser, report, seeds, registry=None):
    profile = report + '.json'
    with open(profile, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'any', 'registry': registry or {}}]}, file)
    environment = {name: value for name, value in os.environ.items() if not name.startswith('DXGK_')}
    done = subprocess.run([DXGK, 'verify', driver, '--exerciser', exerciser, '--profile', profile, '--seeds', f'0..{seeds - 1}',
                           '--report', report, '--strict'], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (registry, done.returncode, done.stdout[-4000:], done.stderr[-2000:])
    _, runs, findings, ends = reports.read_results(os.path.join(report, 'results.jsonl'))
    assert not findings and ends[-1]['complete'], (registry, findings)
    # What was left out found nothing, either.
    without_fault = [run for run in runs if not run['plan']]
    skipped = [run for run in without_fault if run['result'] == 'skipped']
    assert not skipped, (registry, skipped)
    return collections.Counter(run['workload'] for run in without_fault)


def test_the_software_gpu_is_clean_in_each_of_its_settings(root):
    for name, registry in SETTINGS.items():
        assert verify(SOFT, SOFT_EXERCISER, os.path.join(root, name), SEEDS, registry), name


def test_the_software_gpu_is_clean_as_it_comes(root):
    workloads = verify(SOFT, SOFT_EXERCISER, os.path.join(root, 'soft'), MORE)
    assert MORE < 200 or len(workloads) == 20, workloads


def test_the_example_driver_is_clean(root):
    verify(EXAMPLE, EXAMPLE_EXERCISER, os.path.join(root, 'example'), MORE)


tap.run_tests(globals())
