#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The C++ driver starts and stops on the real host, however it was built.

usage: check_loads.py <dxgk> <driver.so> <folder of opendxgk-miniport-uninstalled.pc> <tmh folder>

`dxgk info` starts the driver, shows the adapter and stops it; DXGK_LOG=all tells what happened. The
driver is tried as the build made it, as the one line of pkg-config makes it, and with settings it
refuses.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STEPS = ['DriverEntry of', 'DxgkDdiAddDevice(): STATUS_SUCCESS', 'ROOT\\opendxgk started under',
         'DxgkDdiStartDevice(): STATUS_SUCCESS', 'DxgkDdiCreateDevice(hAdapter 0x',
         'DxgkDdiCreateContext(hDevice 0x', 'DxgkDdiDestroyContext(hContext 0x',
         'DxgkDdiDestroyDevice(hDevice 0x', 'DxgkDdiStopDevice(): STATUS_SUCCESS',
         'DxgkDdiRemoveDevice(): STATUS_SUCCESS', 'DxgkDdiUnload(): STATUS_SUCCESS']


def info(dxgk, folder, driver, registry):
    """(what dxgk info printed, what the log said)"""
    profile = pathlib.Path(folder, 'profile.json')
    profile.write_text(json.dumps({'adapters': [{'driver': str(driver), 'name': 'C++ style',
                                                 'registry': registry}]}))
    run = subprocess.run([dxgk, 'info'], capture_output=True, text=True, timeout=60,
                         env={**os.environ, 'DXGK_PROFILE': str(profile), 'DXGK_LOG': 'all'})
    return run.stdout, run.stderr


def starts_and_stops(dxgk, folder, driver):
    """What is wrong, line by line; nothing when all is well."""
    shown, log = info(dxgk, folder, driver, {'VideoMemoryKiB': 2048})
    wrong = [f'dxgk info does not show "{text}"'
             for text in ('compute only', 'physical', 'Compute (other)', 'memory, 2 MiB')
             if text not in shown]
    position = 0
    for step in STEPS:
        found = log.find(step, position)
        if found < 0:
            wrong.append(f'not in the log, or not in its place: {step}')
        position = max(position, found)
    wrong += [f'reported: {line}' for line in log.splitlines() if '(NT-' in line or '(DDI-' in line]
    return wrong + log.splitlines() if wrong else []


def build_with_pkg_config(folder, pc_folder, tmh):
    """The line that drivers/meson.build promises."""
    driver = pathlib.Path(folder, 'one_line.so')
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'opendxgk-miniport'], check=True,
                           capture_output=True, text=True,
                           env={**os.environ, 'PKG_CONFIG_PATH': pc_folder}).stdout.split()
    subprocess.run(['clang++', *flags, f'-I{tmh}', *map(str, HERE.glob('*.cpp')), '-o', str(driver)],
                   check=True)
    return driver


def refuses_little_memory(dxgk, folder, driver):
    shown, log = info(dxgk, folder, driver, {'VideoMemoryKiB': 1})
    said = 'VideoMemoryKiB = 1 is too little' in log
    return [] if said and 'memory, 2 MiB' not in shown else (shown + log).splitlines()


def main():
    dxgk, driver, pc_folder, tmh = (os.path.abspath(path) for path in sys.argv[1:])
    failed = False
    print('1..3')
    with tempfile.TemporaryDirectory() as folder:
        claims = [
            ('the driver starts and stops', lambda: starts_and_stops(dxgk, folder, driver)),
            ('so does what one line of pkg-config builds',
             lambda: starts_and_stops(dxgk, folder,
                                      build_with_pkg_config(folder, pc_folder, tmh))),
            ('its DriverEntry can refuse', lambda: refuses_little_memory(dxgk, folder, driver)),
        ]
        for number, (claim, check) in enumerate(claims, 1):
            wrong = check()
            failed |= bool(wrong)
            for line in wrong[:60]:
                print('#', line)
            print(f"{'not ok' if wrong else 'ok'} {number} - {claim}", flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
