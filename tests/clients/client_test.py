# SPDX-License-Identifier: MIT
"""dxgk client: what a program sees, what it is told, and what is left afterwards.

Which programs of others come how far is in opencl_test.py; here it is a shell.
"""
import ctypes
import os
import struct
import subprocess
import sys

DXGK, PROBE, TOOLS = sys.argv[1:4]
sys.path.insert(0, TOOLS)
import tap

SYS_UNSHARE = 272
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2


def forbid_namespaces():
    """In the child: unshare() is answered with EPERM, as a container's filter does it."""
    words = [(0x20, 0, 0, 0), (0x15, 0, 1, SYS_UNSHARE), (0x06, 0, 0, 0x00050001),
             (0x06, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b''.join(struct.pack('<HBBI', *word) for word in words))
    program = ctypes.create_string_buffer(struct.pack('<HxxxxxxQ', len(words), ctypes.addressof(code)))
    libc = ctypes.CDLL(None)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, program, 0, 0):
        os._exit(99)


def client(*arguments, preexec=None, **environment):
    return subprocess.run([DXGK, 'client', *arguments], text=True, capture_output=True, timeout=60,
                          preexec_fn=preexec, env=dict(os.environ, **environment), check=False)


def allowed():
    """A machine may forbid namespaces; then only that can be tested."""
    ran = client('--', 'true')
    if ran.returncode == 1 and 'not allowed here' in ran.stderr:
        raise tap.Skip(ran.stderr.splitlines()[0])
    assert ran.returncode == 0, ran.stderr


def test_the_program_finds_the_library_and_the_driver_store_where_wsl_has_them(root):
    allowed()
    ran = client('--', 'sh', '-c', 'ls /usr/lib/wsl/lib /usr/lib/wsl/drivers/opendxgk_intel; echo $DXGK_PROFILE')
    for name in ('libdxcore.so', 'libdxgk.so.0', 'libwsl_compute_helper.so', '/intel.json'):
        assert name in ran.stdout, (name, ran)


def test_everything_else_below_usr_lib_is_as_it_was(root):
    allowed()
    inside = set(client('--', 'ls', '-A', '/usr/lib').stdout.split())
    assert inside - {'wsl'} == set(os.listdir('/usr/lib')) - {'wsl'}, inside ^ set(os.listdir('/usr/lib'))
    ran = client('--', 'sh', '-c', 'cd /usr/lib && find . -maxdepth 1 -type l | sort | xargs -r readlink')
    links = [os.readlink(os.path.join('/usr/lib', name)) for name in sorted(os.listdir('/usr/lib'))
             if os.path.islink(os.path.join('/usr/lib', name))]
    assert sorted(ran.stdout.split()) == sorted(links), ran


def test_nobody_else_sees_it_and_nothing_is_left(root):
    before = os.listdir('/usr/lib')
    allowed()
    child = subprocess.Popen([DXGK, 'client', '--', 'sh', '-c', 'echo ready; read answer'],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == 'ready\n'
    assert os.listdir('/usr/lib') == before
    child.communicate('go\n', timeout=60)
    assert child.returncode == 0 and os.listdir('/usr/lib') == before
    assert 'dxgk' not in [line.split()[0] for line in open('/proc/self/mounts', encoding='utf-8')]


def test_who_runs_it_stays_who_he_is(root):
    allowed()
    assert client('--', 'id', '-u').stdout.strip() == str(os.geteuid())


def test_a_program_that_opens_the_library_by_its_wsl_name_has_the_adapter(root):
    allowed()
    ran = client('--', PROBE)
    assert ran.returncode == 0 and 'Virtual Render (Intel commands, Gen9)' in ran.stdout, ran
    assert '/usr/lib/wsl/drivers/opendxgk_intel' in ran.stdout, ran
    ran = client('--profile', 'intel-gen12', '--', PROBE)
    assert 'Gen12' in ran.stdout, ran


def test_the_environment_says_the_profile_unless_an_option_does(root):
    allowed()
    path = os.path.join(root, 'own.json')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('{"adapters":[{"driver":"soft","name":"my own"}]}')
    assert 'my own' in client('--', PROBE, DXGK_PROFILE=path).stdout
    assert 'my own' in client('--profile', path, '--', PROBE).stdout
    assert 'Gen9' in client('--profile', 'intel', '--', PROBE, DXGK_PROFILE=path).stdout


def test_the_status_is_the_programs_or_says_what_kept_it(root):
    allowed()
    assert client('--', 'sh', '-c', 'exit 7').returncode == 7
    assert client('--', './no-such-program').returncode == 127
    assert client('--', '/usr/lib').returncode == 126
    assert client().returncode == 2
    assert client('--wrong', '--', 'true').returncode == 2
    assert client('--help').returncode == 0
    ran = client('--profile', 'nobody', '--', 'true')
    assert ran.returncode == 1 and 'profile nobody' in ran.stderr, ran
    ran = client('--profile', '/tmp', '--', 'true')
    assert ran.returncode == 1 and 'profile /tmp: Is a directory' in ran.stderr, ran


def test_a_server_that_is_not_there_is_told_and_the_program_not_started(root):
    marker = os.path.join(root, 'started')
    ran = client('--', 'touch', marker, DXGK_SOCKET=os.path.join(root, 'no-server'))
    assert ran.returncode == 1 and not os.path.exists(marker), ran
    assert 'no server is reached' in ran.stderr and 'SYS-SERVER' in ran.stderr, ran


def test_where_namespaces_are_forbidden_it_says_so_and_starts_nothing(root):
    if os.uname().machine != 'x86_64':
        raise tap.Skip('the filter of this test has the numbers of x86_64')
    marker = os.path.join(root, 'started')
    ran = client('--', 'touch', marker, preexec=forbid_namespaces)
    assert ran.returncode == 1 and not os.path.exists(marker), ran
    assert 'Operation not permitted' in ran.stderr and 'not started' in ran.stderr, ran


tap.run_tests(globals())
