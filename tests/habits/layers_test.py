#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layers_test.py - check_layers.py against small trees, good and bad, with the project's own table."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_layers
import tap
import tree

RULES = tree.read(tree.ROOT, 'tools/layers.txt')


def problems(root, files):
    tap.write_tree(root, files)
    return [p for _, found in check_layers.check(root, RULES) for p in found]


def refused(root, path, text, *words, **more):
    """One problem, at the last line of `text`, whose sentence has these words."""
    found = problems(root, {path: text, **more})
    assert len(found) == 1, found
    assert found[0].startswith(f'{path}:{len(text.splitlines())}: '), found
    for word in words:
        assert word in found[0], found


def accepted(root, files):
    found = problems(root, files)
    assert not found, found


def test_what_the_table_allows_is_accepted(root):
    accepted(root, {
        'src/base/lock.h': '#include <pthread.h>\nint pthread_mutex_lock(void);\n',
        'src/base/status.h': '#include <dxg/ntstatus.h>\n',
        'src/vidmm/vidmm.h': '',
        'src/vidmm/room.c': '#include "vidmm/vidmm.h"\n#include "vidmm.h"\n'
                             '#include "base/lock.h"\n#include <stdint.h>\n',
        'src/thunk/a.c': '#include <dxg/d3dkmthk.h>\nD3DKMT_HANDLE h;\n',
        'src/miniport/ddi.c': '#include <ddk/d3dkmddi.h>\nDXGKARG_CREATEDEVICE a;\n',
        'drivers/soft/a.cpp': '#include <ntddk.h>\n#include "../../include/ddk/wdm.h"\n'
                              '#include "a.h"\n#include <opendxgk/softgpu.h>\n',
        'drivers/soft/a.h': '',
        'include/ddk/ntddk.h': '#include "wdm.h"\n#include "../dxg/d3dukmdt.h"\n',
        'include/ddk/wdm.h': '', 'include/dxg/d3dukmdt.h': '',
        'include/opendxgk/softgpu.h': '#include <stdint.h>\n',
        'tests/unit/base/lock_test.c': '#include <pthread.h>\n#include "vidmm/vidmm.h"\n',
    })


ROWS = {
    'the memory manager may not reach the driver': (
        'src/vidmm/room.c', '/* */\n#include "miniport/ddi.h"\n', 'src/vidmm may not include miniport/ddi.h (allowed: evict ranges'),
    'a lower folder may not look up': ('src/handle/table.c', '#include "object/owner/device.h"\n', 'src/handle', 'object/'),
    'base knows nobody': ('src/base/log.c', '#include "trace/ring.h"\n', 'allowed: dxg/ntstatus.h)'),
    'angle brackets do not hide a layer': ('src/gpuva/plan.c', '#include <sched/fence.h>\n', 'sched/fence.h'),
    'a space inside the directive hides nothing': ('src/gpuva/plan.c', '  #  include   "sched/fence.h"\n', 'sched/fence.h'),
    'a public header is refused between the borders': ('src/object/owner/device.c', '#include <dxg/d3dkmthk.h>\n', 'dxg/d3dkmthk.h'),
    'a driver may not see the kernel': ('drivers/soft/a.c', '#include "base/lock.h"\n', 'drivers', 'base/lock.h'),
    'a driver may not use libc': ('drivers/soft/a.c', '#include <string.h>\n', 'drivers', '<string.h>'),
    'a driver header may not use libc': ('include/ddk/wdm.h', '#ifdef X\n#include <stdint.h>\n', 'include/ddk'),
    'a client header may not use libc': ('include/dxg/d3dkmthk.h', '#include <stddef.h>\n', 'include/dxg'),
    'a folder without a row is reported': ('src/misc/a.c', 'int a;\n', 'src/misc has no row'),
    'threads belong to base': ('src/sched/node.c', '\n\nstatic pthread_t worker;\n', 'pthread_t', 'src/base'),
    'the thread header belongs to base': ('src/nt/irql.c', '#include <pthread.h>\n', '<pthread.h>', 'src/base'),
    'clocks belong to base': ('embed/main.c', 'int x = clock_gettime(0, 0);\n', 'clock_gettime'),
    'sleeping belongs to base': ('cli/main.c', 'void f(void) { sleep (1); }\n', 'sleep'),
    'chance belongs to base': ('src/vidmm/room.c', 'int f(void) { return rand(); }\n', 'rand'),
    'the time function is refused and a field of that name is not': (
        'src/trace/a.c', 'int time;\nint b = a->time(1) + a.time(2);\nint c = time(0);\n', 'time may be used'),
    'code after a string still counts': ('src/vidmm/a.c', 'const char *s = "/*"; int r = rand(); /* */\n', 'rand'),
    'client structs stop at dispatch': (
        'src/object/owner/device.c', 'void f(const D3DKMT_CREATEDEVICE *a);\n',
        'src/object may not say D3DKMT_CREATEDEVICE (only: thunk wire dispatch'),
    'driver structs stop at miniport': ('src/sched/node.c', 'void f(DXGKARG_SUBMITCOMMAND *a);\n', 'DXGKARG_SUBMITCOMMAND'),
    'driver entry points stop at miniport': ('src/dispatch/a.c', 'int x = DxgkDdiEscape(0);\n', 'DxgkDdiEscape'),
}
tap.rows(globals(), refused, ROWS)


def test_a_relative_path_does_not_hide_a_layer(root):
    refused(root, 'src/vidmm/room.c', '#include "../miniport/ddi.h"\n', 'miniport/ddi.h',
            **{'src/miniport/ddi.h': ''})


def test_a_relative_path_to_a_header_the_build_makes_is_understood(root):
    accepted(root, {'include/ddk/wdm.h': '#include "../dxg/made_by_the_build.h"\n'})


def test_a_client_header_may_not_use_driver_headers(root):
    refused(root, 'include/dxg/d3dkmthk.h', '#include "../ddk/wdm.h"\n', 'include/dxg',
            **{'include/ddk/wdm.h': ''})


def test_base_functions_about_time_are_free_to_use(root):
    accepted(root, {'src/nt/a.c': 'int a = clock_now_ns(); void timer_insert(void);\n'})


def test_comments_and_strings_do_not_count(root):
    accepted(root, {'src/vidmm/a.c':
                    '/* sleep(1);\n#include "miniport/ddi.h"\n*/\n// D3DKMT_HANDLE \\\nrand();\n'
                    'const char *s = "D3DKMT_HANDLE \\" rand()"; char c = \'"\'; char d = \'"\';\n'})


def test_one_file_can_have_its_own_row(root):
    tap.write_tree(root, {'src/base/a.c': '#include "trace/ring.h"\n',
                          'src/base/b.c': '#include "trace/ring.h"\n'})
    rules = RULES.replace('[no libc]', 'src/base/a.c : trace/ring.h\n[no libc]')
    found = [p for _, ps in check_layers.check(root, rules) for p in ps]
    assert len(found) == 1 and found[0].startswith('src/base/b.c:1:'), found


tap.run_tests(globals())
