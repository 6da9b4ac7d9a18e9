#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""start_test.py - cuda.so where there is no GPU, no library, or one that fails: it says why.

usage: start_test.py path-of-dxgk path-of-tools folder-of-the-stand-in path-of-another-library
"""
import json
import os
import shutil
import subprocess
import sys

DXGK, TOOLS, STAND_IN, OTHER = sys.argv[1:5]
sys.path.insert(0, TOOLS)
import tap  # noqa: E402


def info(root, library=STAND_IN, registry=None, **settings):
    path = os.path.join(root, 'profile.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'cuda', 'registry': {'LocalMemoryMiB': 64, 'ApertureMiB': 64, **(registry or {})}}]}, file)
    environment = {**os.environ, 'DXGK_PROFILE': path, 'LD_LIBRARY_PATH': library, **settings}
    return subprocess.run([DXGK, 'info'], env=environment, capture_output=True, text=True, check=False, timeout=60)


def refused(done, *parts):
    assert done.returncode in (0, 1) and 'did not start' in done.stderr, done
    for part in parts:
        assert part in done.stderr, (part, done.stderr)


def test_with_a_gpu_it_starts(root):
    done = info(root)
    assert done.returncode == 0 and 'segment 1          memory, 64 MiB' in done.stdout, done


def test_a_file_that_is_no_library_is_named(root):
    with open(os.path.join(root, 'libcuda.so.1'), 'w', encoding='utf-8') as file:
        file.write('no library')
    refused(info(root, root), 'libcuda.so.1 cannot be loaded')


def test_a_library_without_a_symbol_is_named(root):
    shutil.copy(OTHER, os.path.join(root, 'libcuda.so.1'))
    refused(info(root, root), 'libcuda.so.1 has no cuInit')


def test_no_gpu(root):
    refused(info(root, TEST_CUDA_GPUS='0'), 'CUDA_ERROR_NO_DEVICE')


def test_too_little_memory(root):
    refused(info(root, registry={'LocalMemoryMiB': 8192}), 'the GPU has')
    refused(info(root, registry={}, TEST_CUDA_MIB='32'), 'LocalMemoryMiB is 64')


def test_tables_that_only_the_gpu_can_write(root):
    for mode in ('gpu_virtual', 'cpu_virtual'):
        refused(info(root, registry={'PageTableUpdateMode': mode}), 'PageTableUpdateMode')
    refused(info(root, registry={'CpuHostApertureMiB': 1}), 'CpuHostApertureMiB')


def test_any_call_may_fail(root):
    """As far as the first packets, each in turn: it starts, or says why; never a broken rule."""
    failed = 0
    step = 1 if os.environ.get('TEST_LONG') else 5
    for call in range(2, 60, step):
        done = info(root, TEST_CUDA_FAIL_AT=str(call), registry={'TdrDelay': 1})
        assert done.returncode in (0, 1) and 'libcuda.so.1 of the tests' not in done.stderr, (call, done)
        if 'segment 1 ' not in done.stdout:
            refused(done, 'CUDA_ERROR_UNKNOWN' if 'CUDA_ERROR' in done.stderr else '')
            failed += 1
    assert failed > 20 // step, failed


sys.exit(tap.run_tests(globals()))
