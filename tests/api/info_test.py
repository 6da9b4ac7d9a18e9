#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""info_test.py - dxgk info, as people and programs read it.

usage: info_test.py path-of-dxgk path-of-tools
"""

import json
import os
import re
import subprocess
import sys

DXGK = sys.argv[1]
sys.path.insert(0, sys.argv[2])
import tap  # noqa: E402
import tree  # noqa: E402


def run(*arguments, **settings):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    environment.update(settings)
    return subprocess.run([DXGK, *arguments], env=environment, capture_output=True, text=True,
                          check=False)


def profile(root, text):
    path = os.path.join(root, 'profile.json')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path


def test_the_version_is_that_of_the_project(root):
    done = run('--version')
    project = tree.read(tree.ROOT, 'meson.build')
    version = re.search(r"^ *version: '([^']+)'", project, re.MULTILINE).group(1)
    assert done.returncode == 0 and done.stderr == '', done
    assert done.stdout == f'dxgk {version}\n', done.stdout


def test_every_verb_explains_itself(root):
    verbs = re.findall(r'^  (\w+) +\S', run('--help').stdout, re.MULTILINE)
    assert 'info' in verbs and 'why' in verbs and len(verbs) > 10, verbs
    commands = [[verb] for verb in verbs] + [['verify', word] for word in ('replay', 'shrink', 'merge')]
    for command in [[], *commands]:
        for option in ('--help', '-h'):
            done = run(*command, option)
            assert done.returncode == 0 and done.stderr == '', (command, option, done)
            assert re.match('usage: dxgk ' + ' '.join(command), done.stdout, re.IGNORECASE), (command, option, done)
    for command in commands:
        done = run(*command, '--nonsense')
        assert done.returncode == 2 and '--nonsense' in done.stderr, (command, done)


def test_info_is_readable(root):
    done = run('info')
    assert done.returncode == 0 and done.stderr == '', done
    for part in ('opendxgk Soft GPU', 'soft.so', '2.6', 'gpummu', '48-bit', '3D',
                 '256 MiB', '1024 MiB'):
        assert part in done.stdout, (part, done.stdout)


def test_info_json_says_the_same(root):
    done = run('info', '--json')
    assert done.returncode == 0 and done.stderr == '', done
    adapters = json.loads(done.stdout)['adapters']
    assert len(adapters) == 1
    adapter = adapters[0]
    assert adapter['name'] == 'opendxgk Soft GPU'
    assert adapter['driver'].endswith('/soft.so') and adapter['wddm'] == '2.6'
    assert adapter['render'] is True and adapter['computeOnly'] is False
    assert adapter['addressModel'] == 'gpummu' and adapter['virtualAddressBits'] == 48
    assert adapter['dedicatedVideoBytes'] == 256 << 20
    assert adapter['localBytes'] == 256 << 20
    assert [node['engine'] for node in adapter['nodes']][0] == '3D'
    assert [segment['kind'] for segment in adapter['segments']] == ['memory', 'aperture']
    assert adapter['segments'][1]['commitLimitBytes'] == 1024 << 20


def test_info_shows_every_adapter_of_a_profile(root):
    path = profile(root, json.dumps({'adapters': [
        {'driver': 'soft', 'name': 'quotes " and \\ and \n grün',
         'registry': {'LocalMemoryMiB': 16}},
        {'driver': 'soft', 'registry': {'AddressModel': 'physical'}}]}))
    done = run('info', '--json', DXGK_PROFILE=path)
    assert done.returncode == 0, done
    adapters = json.loads(done.stdout)['adapters']
    assert [adapter['name'] for adapter in adapters] == ['quotes " and \\ and \n grün', 'soft']
    assert adapters[0]['dedicatedVideoBytes'] == 16 << 20
    assert adapters[1]['addressModel'] == 'physical' and adapters[1]['virtualAddressBits'] == 0
    assert adapters[0]['luid'] != adapters[1]['luid']


def test_info_shows_the_device_that_a_profile_gives(root):
    path = profile(root, json.dumps({'adapters': [
        {'driver': 'soft', 'name': 'x', 'driverVersion': '31.0.101.2111', 'wddm': '2.4',
         'pci': {'vendor': '0x1af4', 'device': '0x1050', 'subsystemVendor': '0x103c',
                 'subsystem': '0x8a5b', 'revision': 161}}]}))
    done = run('info', DXGK_PROFILE=path)
    assert done.returncode == 0 and done.stderr == '', done
    for part in ('31.0.101.2111', '1af4:1050, subsystem 103c:8a5b, revision a1', ' 2.4'):
        assert part in done.stdout, (part, done.stdout)
    done = run('info', '--json', DXGK_PROFILE=path)
    adapter = json.loads(done.stdout)['adapters'][0]
    assert adapter['driverVersion'] == '31.0.101.2111' and adapter['wddm'] == '2.4'
    assert adapter['vendor'] == 0x1af4 and adapter['device'] == 0x1050
    assert adapter['subsystemVendor'] == 0x103c and adapter['subsystem'] == 0x8a5b
    assert adapter['revision'] == 161
    # On no bus there is nothing to show.
    done = run('info')
    assert 'PCI' not in done.stdout and '0.3.0.0' in done.stdout, done
    adapter = json.loads(run('info', '--json').stdout)['adapters'][0]
    assert adapter['vendor'] == 0 and adapter['driverVersion'] == '0.3.0.0'


def test_an_empty_profile_is_said_and_is_a_failure(root):
    path = profile(root, '{"adapters": []}')
    done = run('info', DXGK_PROFILE=path)
    assert done.returncode == 1 and 'no adapter' in done.stdout, done
    done = run('info', '--json', DXGK_PROFILE=path)
    assert done.returncode == 1 and json.loads(done.stdout) == {'adapters': []}, done


def test_a_broken_profile_is_said_with_its_place(root):
    path = profile(root, '{\n  "adapters": [,]\n}')
    for arguments in (['info'], ['info', '--json']):
        done = run(*arguments, DXGK_PROFILE=path)
        assert done.returncode == 1 and done.stdout == '', done
        assert f'{path}:2:16: expected a value, found' in done.stderr, done


def test_an_adapter_that_does_not_start_is_said_and_the_others_are_shown(root):
    path = profile(root, '{"adapters": [{"driver": "/no/such.so"}, {"driver": "soft"}]}')
    done = run('info', DXGK_PROFILE=path)
    assert done.returncode == 0, done
    assert 'adapter 1 (driver "/no/such.so") did not start' in done.stderr, done
    assert 'soft' in done.stdout


def test_an_unknown_verb_and_unknown_options_are_refused(root):
    for arguments in ([], ['nonsense'], ['info', 'more'], ['info', '--nonsense']):
        done = run(*arguments)
        assert done.returncode == 2 and done.stdout == '' and done.stderr != '', (arguments, done)


def test_help_is_on_standard_output(root):
    for arguments in (['--help'], ['info', '--help']):
        done = run(*arguments)
        assert done.returncode == 0 and done.stdout.startswith('usage: dxgk'), (arguments, done)


if __name__ == '__main__':
    tap.run_tests(globals())
