#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""triangle_test.py - the example driver and its program: every pixel, and the way from DestroyResource to the miniport.

usage: triangle_test.py path-of-triangle path-of-driver path-of-tools
"""

import os
import re
import subprocess
import sys

PROGRAM, DRIVER = sys.argv[1:3]
sys.path.insert(0, sys.argv[3])
import tap  # noqa: E402


def run(**settings):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    environment.update(settings)
    done = subprocess.run([PROGRAM, DRIVER], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_all_pixels_are_what_was_drawn(root):
    status, lines = run()
    assert status == 0, lines
    assert 'looked: 0 of 4096 pixels are wrong' in lines, lines
    assert lines[-1] == 'closed' and not [line for line in lines if 'dxgkumd' in line], lines


def test_each_step_from_destroy_resource_to_the_miniport_is_seen(root):
    status, lines = run(DXGK_LOG='calls', DXGK_SEED='1')
    assert status == 0, lines
    begin = next(i for i, line in enumerate(lines) if line.startswith('looked'))
    seen = []
    for line in lines[begin + 1:]:
        step = re.match(r'dxgkumd: (pfn\w+ in pfnDestroyResource)$|'
                        r'dxgk: (D3DKMTDestroyAllocation2|DxgkDdi(?:Close|Destroy)Allocation)\(.*\): STATUS_SUCCESS',
                        line)
        if step:
            seen.append(step.group(1) or step.group(2))
    assert seen[:3] == ['pfnWaitForSynchronizationObjectFromCpuCb in pfnDestroyResource',
                        'pfnFreeGpuVirtualAddressCb in pfnDestroyResource',
                        'pfnDeallocateCb in pfnDestroyResource'], seen
    # The kernel tells of its call when that is over, the miniport of its own when the memory goes.
    behind = seen[3:]
    assert sorted(behind[:3]) == ['D3DKMTDestroyAllocation2', 'DxgkDdiCloseAllocation',
                                  'DxgkDdiDestroyAllocation'], seen
    assert behind.index('DxgkDdiCloseAllocation') < behind.index('DxgkDdiDestroyAllocation'), seen
    # It was a resource, and the miniport hears so: DXGK_DESTROYALLOCATIONFLAGS.DestroyResource.
    destroy = next(line for line in lines[begin:] if line.startswith('dxgk: DxgkDdiDestroyAllocation('))
    assert 'NumAllocations 1' in destroy and 'Flags 0x1)' in destroy, destroy


def test_whatever_callback_fails_the_driver_tells_and_leaves_nothing(root):
    cases = ['CreatePagingQueue:1', 'CreateContextVirtual:1', 'CreateSynchronizationObject2:1', 'Allocate:1',
             'Allocate:2', 'MakeResident:1', 'MakeResident:2', 'MapGpuVirtualAddress:1', 'MapGpuVirtualAddress:2',
             'Lock2:1', 'Lock2:2', 'SubmitCommand:1', 'Unlock2:1', 'FreeGpuVirtualAddress:1', 'Deallocate:1',
             'DestroyContext:1', 'DestroyPagingQueue:1', 'DestroySynchronizationObject:1']
    for case in cases:
        status, lines = run(DXGK_UMD_FAIL=case + ':0x8007000e')
        text = '\n'.join(lines)
        assert status == 1 and 'answers 0x8007000e, as was asked for, in ' in text, (case, text)
        assert re.search(r': 0x8007000e$', lines[-1]), (case, text)
        assert 'UMD-FAILURE-HIDDEN' not in text, (case, text)


def test_a_wish_that_cannot_be_read_is_told(root):
    status, lines = run(DXGK_UMD_FAIL='Allocate')
    assert status == 0 and 'CALLBACK:N:HRESULT' in lines[0], lines


if __name__ == '__main__':
    tap.run_tests(globals())
