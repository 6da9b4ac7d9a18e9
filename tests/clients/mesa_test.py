#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mesa's d3d12 driver on us: it finds the adapter through DXCore, likes what it hears, and gets as far as Microsoft's runtime, which is
closed and not here. Something in its place tells that it was called.

usage: mesa_test.py tools egl_client d3d12_runtime.so libdxcore.so
"""

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
import tap  # noqa: E402

CLIENT, RUNTIME, LIBRARY = map(os.path.abspath, sys.argv[2:5])


def run(root, **settings):
    if not glob.glob('/usr/lib/*/dri/d3d12_dri.so'):
        raise tap.Skip('libgl1-mesa-dri is not installed, or has no d3d12')
    os.symlink(RUNTIME, f'{root}/libd3d12.so')
    os.symlink(LIBRARY, f'{root}/libdxcore.so')
    environment = {**os.environ, 'EGL_PLATFORM': 'surfaceless', 'GALLIUM_DRIVER': 'd3d12',
                   'LIBGL_ALWAYS_SOFTWARE': '1', 'DXGK_LOG': 'calls', 'LD_LIBRARY_PATH': root, **settings}
    done = subprocess.run([CLIENT], env=environment, text=True, timeout=60, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if 'no EGL' in done.stdout:
        raise tap.Skip('libegl1 is not installed')
    return done


def test_it_gets_past_us_to_the_runtime(root):
    done = run(root)
    assert done.returncode == 0, done
    asked = re.findall(r'D3DKMTQueryAdapterInfo\(.*Type (\w+)\): (\w+)', done.stdout)
    assert ('KMTQAITYPE_KMD_DRIVER_VERSION', 'STATUS_SUCCESS') in asked, done.stdout
    assert {status for _, status in asked} == {'STATUS_SUCCESS'}, asked
    assert 'runtime: D3D12CreateDevice with an adapter' in done.stdout, done.stdout


def test_what_it_opened_it_has_closed_when_it_ends(root):
    said = run(root).stdout
    opened = re.findall(r'D3DKMTOpenAdapterFromLuid\(.*hAdapter (0x[0-9a-f]+)', said)
    closed = re.findall(r'D3DKMTCloseAdapter\(hAdapter (0x[0-9a-f]+)\): STATUS_SUCCESS', said)
    assert opened and set(opened) <= set(closed), said


tap.run_tests(globals())
