# SPDX-License-Identifier: MIT
"""Debian's OpenCL driver for Intel on the software GPU, as docs/clients.md says it.

Each step is a program of its own; beside what it checks itself, it has to end well, and the kernel has to
have nothing to complain of.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

DXGK, CLIENT, PROFILES, TOOLS = sys.argv[1:5]
sys.path.insert(0, TOOLS)
import tap

LOCAL_MIB, APERTURE_MIB, BUFFER_MIB = 32, 384, 8


def missing():
    """What keeps this from being tested here, or None."""
    if not glob.glob('/etc/OpenCL/vendors/intel*.icd'):
        return 'intel-opencl-icd is not installed'
    if not CLIENT:
        return 'ocl-icd-opencl-dev is not installed'
    if os.path.isdir('/dev/dri'):
        return 'there is a /dev/dri, which the driver would use instead'
    ran = subprocess.run([DXGK, 'client', '--', 'true'], text=True, capture_output=True, check=False)
    return ran.stderr.splitlines()[0] if ran.returncode == 1 and ran.stderr else None


def run(root, *command, profile='intel', log='refusals', memory=None):
    """(standard output, what the kernel said). The memory is small, so that buffers have to move; {}: as much as the profile says."""
    with open(os.path.join(PROFILES, profile + '.json'), encoding='utf-8') as file:
        adapters = json.load(file)
    adapters['adapters'][0]['registry'].update({'LocalMemoryMiB': LOCAL_MIB, 'ApertureMiB': APERTURE_MIB} if memory is None else memory)
    path = os.path.join(root, profile + '.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(adapters, file)
    ran = subprocess.run([DXGK, 'client', '--profile', path, '--', *command], text=True, timeout=120,
                         capture_output=True, check=False, env=dict(os.environ, DXGK_LOG=log))
    assert ran.returncode == 0, (ran.returncode, ran.stdout[-2000:], ran.stderr[-4000:])
    # The runtime asks for its device when the program has ended, and knows what the answer means.
    said = [line for line in ran.stderr.splitlines() if 'SYS-ENDED' not in line]
    return ran.stdout, said


def step(root, name, profile='intel', memory=None):
    out, said = run(root, CLIENT, name, profile=profile, memory=memory)
    assert 'well' in out, out
    return out, said


def quiet_step(root, name, profile='intel'):
    _, said = step(root, name, profile)
    assert not said, said


def test_clinfo_lists_the_device(root):
    if not shutil.which('clinfo'):
        raise tap.Skip('clinfo is not installed')
    for profile, device in (('intel', '0x1912'), ('intel-gen12', '0x9a49')):
        out, said = run(root, 'clinfo', profile=profile)
        assert not said, said
        assert re.search(r'Number of devices +1\n', out) and device in out, out[:2000]
        assert re.search(r'Device Version +OpenCL 3\.0', out), out[:2000]


def test_an_adapter_that_the_runtime_cannot_be_told_of_is_named(root):
    with open(os.path.join(PROFILES, 'intel.json'), encoding='utf-8') as file:
        good = json.load(file)
    for change, said in (({'pci': {'vendor': '0x8086', 'device': '0x1234'}}, 'vendor 0x8086, device 0x1234'),
                         ({'registry': {}}, 'no "Commands": "intel"')):
        path = os.path.join(root, 'unknown.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'adapters': [{**good['adapters'][0], **change}]}, file)
        ran = subprocess.run([DXGK, 'client', '--profile', path, '--', CLIENT, 'buffers'], text=True, timeout=120,
                             capture_output=True, check=False)
        assert ran.returncode != 0 and said in ran.stderr and 'intel-gen12' in ran.stderr, ran


def test_forty_buffers_keep_what_is_written_mapped_and_read(root):
    quiet_step(root, 'buffers')


def test_forty_buffers_keep_it_when_work_wants_ten_times_local_memory_at_once(root):
    out, said = run(root, CLIENT, 'pressure', log='calls')
    assert 'well' in out, out
    wanted = [int(count) for line in said if 'D3DKMTMakeResident(' in line and 'STATUS_PENDING' in line
              for count in re.findall(r'NumAllocations (\d+)', line)[:1]]
    assert wanted and max(wanted) >= 40, said[-5:]


def test_memory_of_the_programs_own_is_used_where_it_is(root):
    quiet_step(root, 'host_memory')


def test_the_end_of_memory_is_one_of_the_specifications_answers_and_not_the_end(root):
    out, said = step(root, 'exhaust')
    count = int(out.split()[0])
    assert LOCAL_MIB + APERTURE_MIB - 32 <= count * BUFFER_MIB <= LOCAL_MIB + APERTURE_MIB, out
    assert all('granted' in line or 'after gpu_create_allocation' in line for line in said), said


def test_all_that_a_profile_grants_is_there(root):
    for profile in ('intel', 'intel-gen12'):
        out, said = step(root, 'exhaust', profile, memory={})
        assert int(out.split()[0]) * BUFFER_MIB > 2048, out
        # The machine is never short: what it could not lock would be lost without a word, because the runtime does not look.
        assert all('granted' in line or 'after gpu_create_allocation' in line for line in said), said


def test_shared_virtual_memory_is_mapped_and_kept(root):
    quiet_step(root, 'svm')


def test_command_streams_without_kernels_are_carried_out(root):
    quiet_step(root, 'finish')


def test_kernels_are_built_and_take_arguments(root):
    quiet_step(root, 'build')


def test_running_a_kernel_is_out_of_resources_and_changes_nothing(root):
    _, said = step(root, 'walker')
    assert any('STATUS_ILLEGAL_INSTRUCTION' in line for line in said), said


def test_a_generation_that_divides_its_addresses_does_the_same(root):
    for name in ('svm', 'finish'):
        quiet_step(root, name, 'intel-gen12')


reason = missing()
if reason:
    sys.exit(tap.report([], skip=reason))
tap.run_tests(globals())
