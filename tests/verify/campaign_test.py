#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""campaign_test.py - dxgk verify: what it ends with, what it writes, and that it does not matter how the work was divided.

usage: campaign_test.py dxgk opendxgk-cc example-driver example-exerciser project tools [sanitized]

Drivers with a mistake are copies of the example driver with one edit. `sanitized`: this dxgk is built with a sanitizer, which
tells of crashes in its own way.
"""

import atexit
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest.mock

DXGK, CC, EXAMPLE, EXERCISER = map(os.path.abspath, sys.argv[1:5])
PROJECT = pathlib.Path(sys.argv[5])
sys.path[:0] = [sys.argv[6], os.path.dirname(os.path.abspath(__file__))]
IS_SANITIZED = 'sanitized' in sys.argv[7:]
SHARE = 5 if IS_SANITIZED else 1     # a run takes about twenty times as long with a sanitizer: the same, with fewer seeds
import reports  # noqa: E402
import tap  # noqa: E402

WORK = pathlib.Path(tempfile.mkdtemp(prefix='dxgk-campaign-'))
atexit.register(shutil.rmtree, WORK, True)

CREATE_DEVICE = 'static NTSTATUS APIENTRY create_device(HANDLE hAdapter, DXGKARG_CREATEDEVICE *args)\n{\n'
ALLOCATION = 'static NTSTATUS allocation_create(DXGK_ALLOCATIONINFO *info)\n{\n'
SUBMIT = '	gpu_submit(hAdapter, &packet, args->Flags.Resubmission);\n'
INITIALIZE = '	return DxgkInitialize(driver, registry_path, &data);\n'
DESTROY = '	ExFreePoolWithTag(handle, TAG);\n'
EDITS = {
    'crash': (ALLOCATION, ALLOCATION + '	*(volatile int *)8 = 1; /* here */\n'),
    'hang': (ALLOCATION, ALLOCATION + '	for (volatile int i = 0; i < 2; i = 0) { /* here */ }\n'),
    'leak': (DESTROY, '	static LONG calls;\n	if (InterlockedIncrement(&calls) % 3 != 0)\n	' + DESTROY),
    'large': (CREATE_DEVICE, CREATE_DEVICE + '	for (int i = 0; i < 64; i++)\n'
                                             '		RtlFillMemory(ExAllocatePool2(POOL_FLAG_PAGED, 16 << 20, TAG), 16 << 20, 1);\n'),
    'exit': (ALLOCATION, ALLOCATION + '	__asm__ volatile("syscall" : : "a"(231), "D"(0));\n'),
    'leaves': (ALLOCATION, 'void exit(int);\n' + ALLOCATION + '	exit(0); /* here */\n'),
    'wild': (ALLOCATION, ALLOCATION + '	((void (*volatile)(void))0x123456789)(); /* here */\n'),
    'deep': (ALLOCATION, 'static int deep(int level)\n{\n	volatile char local[4096];\n	local[0] = (char)level;\n'
                         '	return deep(level + 1) + local[0]; /* here */\n}\n\n' + ALLOCATION + '	info->Size = deep(0);\n'),
    # A copy that goes on as the run does would do the same; one that nobody ends outlives it.
    'copies': (ALLOCATION, 'int fork(void), _Fork(void), pause(void);\n' + ALLOCATION +
               '	fork();\n	if (_Fork() == 0)\n		for (;;)\n			pause();\n'),
    'unsteady': (CREATE_DEVICE, CREATE_DEVICE + '''	UCHAR *fresh = ExAllocatePool2(POOL_FLAG_PAGED | POOL_FLAG_UNINITIALIZED, 64, TAG);
	if (fresh && fresh[3] & 0x80)
		KeDelayExecutionThread(KernelMode, FALSE, &(LARGE_INTEGER){ .QuadPart = -1000 });
	if (fresh)
		ExFreePoolWithTag(fresh, TAG);
'''),
    'undefined': (ALLOCATION, ALLOCATION + '	volatile int bits = 40;\n	volatile int wide = 1 << bits; /* here */\n	(void)wide;\n'),
    'race': (SUBMIT, SUBMIT + '	((struct gpu *)hAdapter)->is_stuck &= 1; /* here */\n'),
    'ninth': (SUBMIT, SUBMIT + '	NT_ASSERT(args->SubmissionFenceId != 9);\n'),
    'slow': (INITIALIZE, '	for (volatile long i = 0; i < 200000000; i++)\n		;\n' + INITIALIZE),
    'no-start': ('static NTSTATUS APIENTRY add_device(', 'static NTSTATUS APIENTRY add_nothing(void);\n'
                                                        'static NTSTATUS APIENTRY add_device('),
}
BUILT = {}
# Tests, passed, and lines that are no TAP.
PERL = 'my $p = TAP::Parser->new({ source => \\*STDIN }); $p->run; ' \
       'print join " ", $p->tests_run, scalar $p->passed, scalar $p->parse_errors'


def built(name, folder='drivers'):
    """The driver with that mistake; `folder` below the working folder."""
    if (name, folder) in BUILT:
        return BUILT[name, folder]
    place = WORK / folder / name
    place.mkdir(parents=True)
    for path in (PROJECT / 'examples/miniport').glob('*.[ch]'):
        shutil.copy(path, place)
    source = (place / 'driver.c').read_text(encoding='utf-8')
    old, new = EDITS[name]
    assert source.count(old) >= 1, f'{name}: the example driver has changed'
    source = source.replace(old, new, 1)
    if name == 'no-start':
        source = re.sub(r'(add_device\([^{]*\{)', r'\1\n\treturn STATUS_NOT_SUPPORTED;', source, count=1)
    (place / 'driver.c').write_text(source, encoding='utf-8')
    image = place / f'{name}.so'
    # A cache of objects would give one with the paths of another copy.
    subprocess.run([CC, '-shared', '-Wno-everything', 'driver.c', 'gpu.c', '-o', image], cwd=place, check=True, timeout=120,
                   env={**os.environ, 'CCACHE_DISABLE': '1'})
    BUILT[name, folder] = image
    return image


def sanitized(place, sanitizers, folder=None):
    """The sources there, built with a sanitizer."""
    image = (folder or place) / 'sanitized.so'
    subprocess.run([CC, f'-fsanitize={sanitizers}', '-shared', '-Wno-everything', 'driver.c', 'gpu.c', '-o', image], cwd=place,
                   check=True, timeout=120, env={**os.environ, 'CCACHE_DISABLE': '1'})
    return image


def line_of(name, text='/* here */'):
    lines = (built(name).parent / 'driver.c').read_text(encoding='utf-8').splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def verify(*arguments, cwd=None, library_path=os.environ.get('LD_LIBRARY_PATH'), **more):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(('DXGK_', 'LD_LIBRARY')) or name == 'DXGK_DRIVER_PATH'}
    if library_path:
        environment['LD_LIBRARY_PATH'] = library_path
    return subprocess.run([DXGK, 'verify', *map(str, arguments)], env=environment, capture_output=True, text=True,
                          check=False, timeout=200, cwd=cwd, **more)


def some(count):
    """Seeds, of so many where there is no sanitizer."""
    return max(count // SHARE, 12)


def first(count):
    return f'0..{some(count) - 1}'


def campaign(driver, report, *arguments, seeds='0..9', status=0, **more):
    done = verify(driver, '--exerciser', EXERCISER, '--seeds', seeds, '--report', report, *arguments, **more)
    assert done.returncode == status, (done.returncode, done.stdout[-3000:], done.stderr[-3000:])
    return done


def results(report):
    return reports.read_results(os.path.join(report, 'results.jsonl'))


def rules_of(report):
    return {rule for rule, _ in results(report)[2]}


def runs_of(report):
    """What was done, without what depends on the machine; a run that is there twice counts once."""
    return {(run['seed'], run['workload'], run['plan']): (run['result'], str(run.get('findings')))
            for run in results(report)[1] if run['result'] != 'broken' or not run.get('last')}


# ---- what it ends with ----

def test_a_driver_that_keeps_the_rules_is_clean_and_every_report_says_so(root):
    report = os.path.join(root, 'r')
    done = campaign(EXAMPLE, report, seeds=first(40))
    assert 'nothing found' in done.stdout and f'{some(40)} seeds' in done.stdout, done.stdout
    campaign_line, runs, findings, ends = results(report)
    assert findings == {} and {run['seed'] for run in runs} == set(range(some(40))), runs
    assert campaign_line['facts']['model'] == 'gpummu' and ends[-1]['complete'], campaign_line
    cases = [case for suite in reports.read_junit(os.path.join(report, 'junit.xml')).values() for case in suite]
    assert len(cases) == some(40) and all(case[2][0] in ('ok', 'skipped') for case in cases), cases
    sarif = reports.read_sarif(os.path.join(report, 'report.sarif'))
    assert sarif['results'] == [] and sarif['invocations'][0]['exitCode'] == 0
    with open(os.path.join(report, 'cursor'), encoding='utf-8') as file:
        assert json.load(file)['complete'] is True


def test_a_crash_is_named_with_its_line_in_every_report(root):
    if IS_SANITIZED:
        raise tap.Skip('the sanitizer of this program tells of crashes')
    report, driver = os.path.join(root, 'r'), built('crash')
    done = campaign(driver, report, '--plan', 'none', status=4, cwd=driver.parent)
    line = line_of('crash')
    assert f'at      allocation_create (driver.c:{line})' in done.stdout, done.stdout
    assert re.search(r'^DDI-CRASH: error: SIGSEGV in DxgkDdiCreateAllocation', done.stdout, re.M), done.stdout
    for part in ('rule    A driver does not fault', 'source  bug checks', 'last calls of the driver:',
                 'DxgkDdiCreateAllocation(', ' times in ', 'replay  dxgk verify replay '):
        assert part in done.stdout, (part, done.stdout)
    assert len(results(report)[2]) == 1, results(report)[2].keys()
    (key, finding), = results(report)[2].items()
    assert finding['kind'] == 'crash' and finding['entry'] == 'DxgkDdiCreateAllocation', finding
    run = reports.read_sarif(os.path.join(report, 'report.sarif'))
    result, = run['results']
    place = result['locations'][0]
    assert place['physicalLocation'] == {'artifactLocation': {'uri': 'driver.c', 'uriBaseId': 'SRCROOT'},
                                         'region': {'startLine': line}}, place
    assert place['logicalLocations'][0]['name'] == 'allocation_create'
    assert result['partialFingerprints']['dxgkRuleFrame/v1'] == key[1]
    steps = result['codeFlows'][0]['threadFlows'][0]['locations']
    assert any('DxgkDdiCreateAllocation(' in step['location']['message']['text'] for step in steps), steps
    assert run['invocations'][0]['toolExecutionNotifications'][0]['descriptor']['id'] == 'DDI-CRASH'
    cases = [case for suite in reports.read_junit(os.path.join(report, 'junit.xml')).values() for case in suite]
    kinds = {case[2][:2] for case in cases}
    assert kinds == {('error', 'DDI-CRASH')}, kinds
    assert cases[0][1]['plan'] == 'none' and cases[0][1]['seed'] == '0', cases[0]


def test_the_last_calls_have_all_of_their_arguments(root):
    report = os.path.join(root, 'r')
    campaign(built('ninth'), report, '--plan', 'none', '--workload', 'W12', seeds='0..2', status=1)
    (_, finding), = results(report)[2].items()
    built_calls = [call for call in finding['calls'] if 'DxgkDdiBuildPagingBuffer(' in call]
    assert len(built_calls) > 3 and all(re.search(r'MultipassOffset \d+\): STATUS_SUCCESS$', call) for call in built_calls), built_calls


def test_tap_has_a_test_for_each_seed_and_says_what_is_wrong(root):
    report, driver = os.path.join(root, 'r'), built('leak')
    done = campaign(driver, report, '--plan', 'none', '--tap', status=1, cwd=driver.parent)
    tests = reports.read_tap(done.stdout)
    assert len(tests) == 10, tests
    bad = [test for test in tests if not test[0]]
    leaks = [test for test in bad if test[4]['rule'] == 'NT-POOL-LEAK']      # or of the adapter itself, which has a rule of its own
    assert leaks and leaks[0][4]['severity'] == 'error', bad
    assert leaks[0][4]['at']['file'] == 'driver.c' and leaks[0][4]['at']['line'] > 0, leaks[0]
    assert 'NT-POOL-LEAK: error:' in done.stderr, done.stderr


def test_tap_is_read_by_perls_consumer_too(root):
    if not shutil.which('perl'):
        raise tap.Skip('perl is not installed')
    done = campaign(built('leak'), os.path.join(root, 'r'), '--plan', 'none', '--tap', status=1)
    tests = reports.read_tap(done.stdout)
    bad = [test for test in tests if not test[0]]
    # It does not know of version 14 but reads what is common to both.
    counted = subprocess.run(['perl', '-MTAP::Parser', '-e', PERL], input=done.stdout.replace('version 14', 'version 13', 1),
                             capture_output=True, text=True, check=False, timeout=30)
    assert counted.stdout == f'10 {len(tests) - len(bad)} 0', counted


def test_a_driver_that_never_returns_is_a_hang_with_its_line(root):
    report, driver = os.path.join(root, 'r'), built('hang')
    done = campaign(driver, report, '--plan', 'none', '--timeout', '2', '--workload', 'W20', seeds='1', status=5,
                    cwd=driver.parent)
    assert 'DDI-HANG: error: The run did not end' in done.stdout, done.stdout
    if not IS_SANITIZED:
        assert f'at      allocation_create (driver.c:{line_of("hang")})' in done.stdout, done.stdout


def test_a_machine_with_other_things_to_do_is_no_hang(root):
    if IS_SANITIZED:
        raise tap.Skip('a run takes longer than its limit by itself')
    driver = built('slow')
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    others = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(8)]
    try:
        done = campaign(driver, os.path.join(root, 'r'), '--plan', 'none', '--timeout', '1', '--workload', 'W20', seeds='1')
    finally:
        for other in others:
            other.kill()
            other.wait()
        os.sched_setaffinity(0, processors)
    assert 'nothing found' in done.stdout, done.stdout


def test_memory_without_end_and_a_process_that_goes_away_cost_one_run(root):
    report = os.path.join(root, 'r')
    done = campaign(built('large'), report, '--plan', 'none', '--memory', '600' if not IS_SANITIZED else '900', seeds='1',
                    status=5)
    assert 'of memory, and was ended' in done.stdout, done.stdout
    done = campaign(built('exit'), report, '--plan', 'none', seeds='1..3', status=4)
    assert 'exited with status 0 before the run was over' in done.stdout, done.stdout
    assert len(results(report)[1]) >= 3


def test_a_driver_that_exits_or_crashes_out_of_its_code_is_named_with_its_line(root):
    if IS_SANITIZED:
        raise tap.Skip('the sanitizer of this program tells of crashes')
    for name, said in (('leaves', 'it called exit()'), ('wild', 'it called 0x123456789'), ('deep', 'it wrote to 0x')):
        driver = built(name)
        done = campaign(driver, os.path.join(root, name), '--plan', 'none', '--workload', 'W20', seeds='1', status=4, cwd=driver.parent)
        assert f'in DxgkDdiCreateAllocation: {said}' in done.stdout, done.stdout
        assert f'(driver.c:{line_of(name)})' in done.stdout, done.stdout


def processes_of(driver):
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            if os.fsencode(driver) in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass
    return found


def test_a_driver_that_forks_leaves_no_process_behind(root):
    campaign(built('copies'), os.path.join(root, 'r'), '--plan', 'none', '--workload', 'W20', seeds='1..2')
    assert processes_of(built('copies')) == []


def test_warnings_count_when_they_are_to(root):
    report = os.path.join(root, 'r')
    done = campaign(built('unsteady'), report, '--plan', 'none', seeds='0..1')
    assert 'NT-POOL-UNINIT: warning: Two runs of one seed' in done.stdout, done.stdout
    assert 'in      DxgkDdiCreateDevice' in done.stdout, done.stdout
    campaign(built('unsteady'), report, '--plan', 'none', '--strict', seeds='0..1', status=6)
    folder, = pathlib.Path(report, 'failing').iterdir()
    again = verify('replay', folder)
    assert again.returncode == 1 and 'again: Two runs of one seed' in again.stdout, again


def test_a_driver_that_does_not_start_says_why(root):
    report = os.path.join(root, 'r')
    done = campaign(built('no-start'), report, '--tap', status=3)
    assert 'DxgkDdiAddDevice returned STATUS_NOT_SUPPORTED' in done.stderr, done
    assert reports.read_tap(done.stdout)[0] == 'bail', done.stdout
    assert reports.read_sarif(os.path.join(report, 'report.sarif'))['invocations'][0]['executionSuccessful'] is False
    done = verify(os.path.join(root, 'nothing.so'))
    assert done.returncode == 2 and 'nothing.so: No such file' in done.stderr, done
    os.mkfifo(os.path.join(root, 'pipe'))
    for path in (os.path.join(root, 'pipe'), '/dev/zero'):
        done = verify(path, '--report', report)
        assert done.returncode == 2 and f'{path}: Exec format error' in done.stderr, done
        done = verify(EXAMPLE, '--exerciser', path, '--report', report)
        assert done.returncode == 2 and f'{path}: it is no regular file' in done.stderr, done
    done = verify(PROJECT / 'README.md', '--report', report)
    assert done.returncode == 3 and 'is not an ELF file' in done.stdout, done


def test_where_nothing_fits_everything_is_skipped(root):
    done = verify(EXAMPLE, '--seeds', '0..9', '--workload', 'W10', '--report', os.path.join(root, 'r'))
    assert done.returncode == 77 and done.stdout.endswith(
        'left out, for want of private data of allocations (allocation_data of an exerciser): W10\n'), done


def test_what_a_driver_has_no_words_for_is_said_to_be_left_out(root):
    done = verify(EXAMPLE, '--seeds', '0..1', '--report', os.path.join(root, 'r'))
    assert done.returncode == 0 and re.search('^left out, for want of private data of .*: W01 W02 .* W20$', done.stdout, re.M), done
    done = campaign(EXAMPLE, os.path.join(root, 'r'), seeds='0..1')
    assert 'left out' not in done.stdout, done


def test_wrong_usage_is_said_and_ends_with_2(root):
    for arguments, said in (
            ([], 'expected one DRIVER.so'), (['a', 'b'], 'expected one'),
            (['--seeds', '9..3', 'x'], '--seeds: "9..3": expected A..B'),
            (['--seeds', str(1 << 60), 'x'], '--seeds'), (['--shard', '3/3', 'x'], '--shard: "3/3": expected I/N'),
            (['--jobs', '0', 'x'], '--jobs'), (['--minutes', '-1', 'x'], '--minutes'), (['--minutes', '0', 'x'], '--minutes'),
            (['--minutes', '1e3', 'x'], '--minutes: "1e3": expected a number above 0'),
            (['--workload', '', 'x'], '--workload'), (['--plan', '', 'x'], 'expected a fault, or none'),
            (['--plan', ' ; ', 'x'], 'expected a fault, or none'), (['--sanitize', '', 'x'], '--sanitize'),
            (['--sanitize', 'address,undefined', built('leak')], 'was not built with -fsanitize=address'),
            (['--sanitize', 'thread', built('leak')], 'leak.so was not built with -fsanitize=thread'),
            (['--plan', 'sunshine', 'x'], '"sunshine" is no fault'),
            (['--plan', 'memory-nth; reset-at', 'x'], 'without its number'),
            (['--plan', 'late-dpc', 'x'], 'late-dpc'), (['--workload', 'W99', 'x'], '--workload'),
            (['--sanitize', 'address,thread', 'x'], 'thread goes with no other'),
            (['--sanitize', 'memory', 'x'], 'none of address'), (['merge'], 'expected folders'), (['replay'], 'one folder'),
            (['replay', os.path.join(root, 'none')], 'script.dxgk'), (['merge', root], 'results.jsonl')):
        done = verify(*arguments)
        assert done.returncode == 2 and said in done.stderr, (arguments, done)


ENTRY = '''#include "ntddk.h"
#include "dispmprt.h"
DRIVER_INITIALIZE DriverEntry;
DECLSPEC_EXPORT NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
'''
WAITS = '''	KEVENT never;
	KeInitializeEvent(&never, NotificationEvent, FALSE);
	return KeWaitForSingleObject(&never, Executive, KernelMode, FALSE, NULL);
}
'''


def test_nonsense_instead_of_a_driver_is_told_in_a_sentence(root):
    if IS_SANITIZED:
        raise tap.Skip('the sanitizer of this program tells of crashes')
    for name, source, status, said in (
            ('text', None, 3, 'is not an ELF file'),
            ('nothing', 'int nothing;\n', 3, 'exports no DriverEntry'),
            ('fails', ENTRY + '	return STATUS_NOT_SUPPORTED;\n}\n', 3, 'DriverEntry returned STATUS_NOT_SUPPORTED'),
            ('crashes', ENTRY + '	return *(volatile NTSTATUS *)8;\n}\n', 4,
             'SIGSEGV in DriverEntry: it read 0x8'),
            ('exits', 'void exit(int);\n' + ENTRY + '	exit(0);\n}\n', 4, 'in DriverEntry: it called exit()'),
            # The end of a run that is stuck is no crash of the driver.
            ('waits', ENTRY + WAITS, 5, 'DDI-HANG: error: Every thread waits')):
        driver = pathlib.Path(root, f'{name}.so')
        if source is None:
            driver.write_text('no driver\n')
        else:
            driver.with_suffix('.c').write_text(source)
            subprocess.run([CC, '-shared', driver.with_suffix('.c'), '-o', driver], check=True, timeout=120)
        done = verify(driver, '--seeds', '0..1', '--report', os.path.join(root, name))
        assert done.returncode == status and said in done.stdout, (name, done)
        assert status != 5 or 'DDI-CRASH' not in done.stdout, done.stdout
        assert 'left out' not in done.stdout, done.stdout   # nothing is known of it
        assert name != 'crashes' or 'crashes.c:6)' in done.stdout, done.stdout


EXERCISER_SOURCE = '''#include <opendxgk/exerciser.h>
#include <stdlib.h>
static uint32_t allocation_data(uint64_t size_bytes, uint32_t cpu_visible, void *data, uint32_t room)
{
	return WRITES;
}
const struct dxgk_exerciser *dxgk_exerciser(void)
{
	static const struct dxgk_exerciser exerciser = { VERSION, sizeof(exerciser), allocation_data };
	return &exerciser;
}
'''


def test_a_driver_is_not_blamed_for_its_exerciser(root):
    source = pathlib.Path(root, 'exerciser.c')
    source.write_text(EXERCISER_SOURCE)
    for version, writes, status, said in ((99, '0', 2, 'version 99 and '), (1, 'room + 1', 2, 'says that it wrote 4097 bytes'),
                                          (1, '(_Exit(7), 0)', 2, 'ended the process with status 7'), (1, '0', 0, 'nothing found')):
        library = pathlib.Path(root, 'exerciser.so')
        subprocess.run(['cc', '-shared', '-fPIC', f'-DVERSION={version}', f'-DWRITES={writes}', f'-I{PROJECT}/include', source, '-o',
                        library], check=True, timeout=60)
        done = verify(EXAMPLE, '--exerciser', library, '--seeds', '0..3', '--report', os.path.join(root, f'{version}{writes[:1]}'))
        assert done.returncode == status and said in (done.stderr if status else done.stdout), (writes, done)
        assert 'DDI-' not in done.stdout and 'did not start' not in done.stdout, (writes, done)


def test_a_disk_that_is_full_is_no_finding(root):
    script = f'mount -t tmpfs -o size=24k none {root} && exec "$@"'
    command = ['unshare', '--mount', '--map-root-user', 'sh', '-c', script, 'sh']
    if subprocess.run([*command, 'true'], capture_output=True, check=False).returncode:
        raise tap.Skip('nobody may mount here')
    # With seed 0 two runs are compared, whose traces have no room.
    done = subprocess.run([*command, DXGK, 'verify', EXAMPLE, '--exerciser', EXERCISER, '--seeds', '0..39', '--report', f'{root}/r'],
                          capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 2 and 'No space left on device' in done.stderr and 'nothing found' in done.stdout, done


def test_help_and_rules_are_there(root):
    done = verify('--help')
    assert done.returncode == 0 and 'W10 make-resident' in done.stdout and 'memory-nth [N]' in done.stdout, done.stdout
    done = verify('--rules')
    assert done.returncode == 0 and re.search(r'^DDI-CRASH\n  level   error\n  rule    A driver does not', done.stdout, re.M)
    checked, unchecked = re.search(r'^(\d+) rules are checked, (\d+) are not$', done.stdout, re.M).groups()
    assert int(checked) > 90 and int(unchecked) <= 10, done.stdout[-200:]


# ---- again ----

def test_wrong_bytes_are_one_finding_that_blames_no_line(root):
    place = pathlib.Path(root, 'content')
    shutil.copytree(PROJECT / 'examples/miniport', place)
    text = (place / 'gpu.c').read_text(encoding='utf-8')
    # Fills of clients lose all pages but the first.
    edited = text.replace('at < size; at +=', 'at < size && (done == 0 || command->from == 0); at +=')
    assert edited != text
    (place / 'gpu.c').write_text(edited, encoding='utf-8')
    subprocess.run([CC, '-shared', 'driver.c', 'gpu.c', '-o', 'content.so'], cwd=place, check=True, timeout=120)
    report = os.path.join(root, 'r')
    campaign(place / 'content.so', report, '--plan', 'none', seeds=first(100), status=1)
    (key, finding), = results(report)[2].items()
    assert key[0] == 'DDI-CONTENT' and finding['frames'] == [], finding
    assert re.fullmatch(r'check a\d+ 0x[0-9a-f]+: the byte at a\d+\+0x[0-9a-f]+ is 0x[0-9a-f]+, expected 0x[0-9a-f]+',
                        finding['sentence']), finding


def test_replay_is_the_same_run_byte_for_byte(root):
    report, driver = os.path.join(root, 'r'), built('leak')
    campaign(driver, report, seeds='0..19', status=1)
    folders = sorted(pathlib.Path(report, 'failing').iterdir())
    assert folders
    for folder in folders:
        assert {path.name for path in folder.iterdir()} == {'script.dxgk', 'seed', 'plan', 'profile.json', 'finding.json',
                                                            'trace.json'}, folder
        kept = os.path.join(root, 'trace.json')
        done = verify('replay', '--trace', kept, folder)
        assert done.returncode == 1 and ' again: ' in done.stdout, done
        assert 'trace: the same, byte for byte' in done.stdout, done
        assert pathlib.Path(kept).read_bytes() == (folder / 'trace.json').read_bytes()
    # One that could not be written is not called the same, and is not wanted in the folder of the failure.
    done = verify('replay', '--trace', os.path.join(root, 'nowhere', 'trace.json'), folders[0])
    assert done.returncode == 2 and ' again: ' in done.stdout and 'trace: it was not written' in done.stdout, done
    done = verify('replay', '--trace', os.path.join(root, 'trace'), folders[0])
    assert done.returncode == 2 and 'expected a name that ends in .json' in done.stderr, done
    with tempfile.TemporaryDirectory() as other:
        with unittest.mock.patch.dict(os.environ, TMPDIR=os.path.join(other, 'nowhere')):
            done = verify('replay', folders[0])
        assert done.returncode == 1 and 'trace: it was not written' in done.stdout, done
        with unittest.mock.patch.dict(os.environ, TMPDIR=other):
            done = verify('replay', folders[0])
        assert 'byte for byte' in done.stdout and os.listdir(other) == [], done
    (folders[0] / 'seed').write_text('many\n')
    assert verify('replay', folders[0]).returncode == 2


def test_a_finding_that_is_gone_is_not_seen_any_more(root):
    report = os.path.join(root, 'r')
    driver = pathlib.Path(root, 'driver.so')
    shutil.copy(built('leak'), driver)
    campaign(driver, report, '--plan', 'none', status=1)
    shutil.copy(EXAMPLE, driver)
    folder = sorted(pathlib.Path(report, 'failing').iterdir())[0]
    done = verify('replay', folder)
    assert done.returncode == 0 and 'not seen' in done.stdout and 'another build' in done.stdout, done


def test_a_script_of_a_failure_runs_by_itself(root):
    report = os.path.join(root, 'r')
    campaign(built('leak'), report, '--plan', 'none', status=1)
    folder = sorted(pathlib.Path(report, 'failing').iterdir())[0]
    done = subprocess.run([DXGK, 'run', '--driver', built('leak'), '--exerciser', EXERCISER, '--seed',
                           (folder / 'seed').read_text().strip(), folder / 'script.dxgk'],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and 'NT-POOL-LEAK' in done.stderr, done


def test_what_fails_is_made_small_and_becomes_a_program(root):
    if IS_SANITIZED:
        raise tap.Skip('the sanitizer of this program tells of crashes')
    report = os.path.join(root, 'r')
    campaign(built('crash'), report, '--workload', 'W20', seeds='0..1', status=4)
    folder, = pathlib.Path(report, 'failing').iterdir()
    done = verify('shrink', folder)
    assert done.returncode == 0, done
    statements, of = map(int, re.search(r': (\d+) statements of (\d+), plan ""', done.stdout).groups())
    assert of > 10 and statements <= 2, done.stdout
    script = (folder / 'small.dxgk').read_text()
    again = subprocess.run([DXGK, 'run', folder / 'small.dxgk'], capture_output=True, text=True, check=False, timeout=60)
    assert 'SIGSEGV in DxgkDdiCreateAllocation' in again.stderr, (script, again)
    # A skeleton: it compiles as it is.
    subprocess.run(['cc', '-Wall', '-Werror', '-fsyntax-only', f'-I{PROJECT}/include', f'-I{PROJECT}/include/dxg',
                    folder / 'small_test.c'], check=True)


# ---- sanitizers ----

def test_a_sanitizer_is_one_flag(root):
    if IS_SANITIZED:
        raise tap.Skip('this program has a sanitizer of its own')
    image = sanitized(built('undefined').parent, 'address,undefined')
    # What the program finds beside itself it also finds there: nobody sets a path for it.
    done = campaign(image, os.path.join(root, 'r'), '--sanitize', 'address,undefined', '--plan', 'none', seeds='0..2', status=4,
                    cwd=image.parent, library_path=None)
    assert 'DDI-SANITIZER: error: UndefinedBehaviorSanitizer: shift exponent 40' in done.stdout, done.stdout
    assert f'at      allocation_create (driver.c:{line_of("undefined")})' in done.stdout, done.stdout
    assert rules_of(os.path.join(root, 'r')) == {'DDI-SANITIZER'}, done.stdout
    done = campaign(image, os.path.join(root, 'without'), status=3)
    assert 'say --sanitize' in done.stdout, done.stdout


def test_races_are_told_by_the_thread_sanitizer_and_by_nobody_else(root):
    if IS_SANITIZED:
        raise tap.Skip('this program has a sanitizer of its own')
    library = subprocess.run(['clang', '-print-file-name=libclang_rt.tsan-x86_64.so'], capture_output=True, text=True, check=True)
    if not os.path.isabs(library.stdout.strip()):
        raise tap.Skip('clang has no libclang_rt.tsan-x86_64.so')
    image = sanitized(PROJECT / 'examples/miniport', 'thread', pathlib.Path(root))
    done = campaign(image, os.path.join(root, 'r'), '--sanitize', 'thread', '--plan', 'none', seeds='0..9')
    assert 'nothing found' in done.stdout, done.stdout
    # What the engine's thread looks at under its lock is written by an entry point without.
    image = sanitized(built('race').parent, 'thread')
    done = campaign(image, os.path.join(root, 'race'), '--sanitize', 'thread', '--plan', 'none', seeds='0..4', status=4,
                    cwd=image.parent, library_path=None)
    assert 'DDI-SANITIZER: error: ThreadSanitizer: data race with ' in done.stdout, done.stdout
    assert f'submit_command (driver.c:{line_of("race")})' in done.stdout, done.stdout
    assert rules_of(os.path.join(root, 'race')) == {'DDI-SANITIZER'}, done.stdout
    # One finding, whichever of the two comes second and is told of.
    folder, = pathlib.Path(root, 'race', 'failing').iterdir()
    done = verify('replay', folder)
    assert done.returncode == 4 and ' again: ' in done.stdout and 'trace: the same, byte for byte' in done.stdout, done


# ---- plans ----

def test_a_series_ends_when_a_run_had_no_failure_left(root):
    report = os.path.join(root, 'r')
    campaign(EXAMPLE, report, '--plan', 'memory-nth', seeds='1')
    plans = [run['plan'] for run in results(report)[1]]
    assert plans == [f'memory-nth {n}' for n in range(1, len(plans) + 1)] and len(plans) > 5, plans
    assert [run.get('last', False) for run in results(report)[1]] == [False] * (len(plans) - 1) + [True]
    campaign(EXAMPLE, report, '--plan', f'memory-nth {len(plans) - 1}; late-dpc 3ms', seeds='1')
    assert [run['plan'] for run in results(report)[1]] == [f'memory-nth {len(plans) - 1}; late-dpc 3ms']


def test_every_plan_of_several_has_seeds(root):
    report = os.path.join(root, 'r')
    campaign(EXAMPLE, report, '--plan', 'small-tables', '--plan', 'none', '--plan', 'preempt-always', seeds=first(15))
    assert {run['plan'] for run in results(report)[1]} == {'small-tables', '', 'preempt-always'}


def test_a_damaged_folder_is_said_and_not_run(root):
    report = os.path.join(root, 'r')
    campaign(built('leak'), report, '--plan', 'none', '--workload', 'W20', seeds='1', status=1)
    folder = next(pathlib.Path(report, 'failing').iterdir())
    for name, bytes_there, said in (('plan', 'sunshine\n', 'plan: "sunshine" is no fault'), ('plan', 'memory-nth\n', 'plan: '),
                                    ('profile.json', '{ "adapters": [', 'profile.json:1:'), ('seed', 'x', 'expected a number'),
                                    ('script.dxgk', 'client c0\nfill\n', 'script.dxgk:2: '), ('finding.json', '{}', 'expected driver')):
        good = (folder / name).read_bytes()
        (folder / name).write_text(bytes_there)
        for verb in ('replay', 'shrink'):
            done = verify(verb, folder)
            assert done.returncode == 2 and said in done.stderr, (name, done)
        (folder / name).write_bytes(good)
    assert verify('replay', folder).returncode == 1


# ---- known findings ----

def baseline(root, entries):
    path = os.path.join(root, 'baseline.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'known': entries}, file)
    return path


def test_known_findings_are_shown_and_do_not_fail_until_their_day(root):
    report, driver = os.path.join(root, 'r'), built('leak')
    campaign(driver, report, '--plan', 'none', status=1)
    known = [{'rule': rule, 'fingerprint': fingerprint, 'reason': 'ticket 7 # <&>', 'until': '2999-12-31'}
             for rule, fingerprint in results(report)[2]]
    path = baseline(root, known)
    done = campaign(driver, report, '--plan', 'none', '--tap', '--baseline', path)
    assert 'ticket 7 # <&>' in done.stderr and 'NT-POOL-LEAK' in done.stderr, done.stderr
    todo = [test for test in reports.read_tap(done.stdout) if not test[0]]
    assert todo and all(test[2] and test[3].startswith('known: ticket 7') for test in todo), todo
    for result in reports.read_sarif(os.path.join(report, 'report.sarif'))['results']:
        assert result['suppressions'][0]['justification'] == 'ticket 7 # <&>', result
    reports.read_junit(os.path.join(report, 'junit.xml'))
    for entry in known:
        entry['until'] = '2001-02-03'
    done = campaign(driver, report, '--plan', 'none', '--baseline', baseline(root, known), status=1)
    assert 'expired' in done.stdout, done.stdout
    path = baseline(root, [{'rule': 'DDI-CRASH', 'fingerprint': '0' * 16, 'reason': 'gone'}])
    done = campaign(EXAMPLE, report, '--plan', 'none', '--baseline', path, seeds='1')
    assert 'is in the baseline and was not seen' in done.stdout, done.stdout
    for wrong, said in (([{'rule': 'A', 'fingerprint': 'b'}], 'reason'),
                        ([{'rule': 'A', 'fingerprint': 'b', 'reason': 'c', 'until': 'soon'}], 'a day as'),
                        ([{'rule': 'A', 'fingerprint': 'b', 'reason': 'c', 'until': '2999-13-01'}], 'a day as'),
                        ([{'rule': 'A', 'fingerprint': 'b', 'reason': 'c', 'until': '2999-02-30'}], 'a day as')):
        done = verify(EXAMPLE, '--baseline', baseline(root, wrong), '--report', report)
        assert done.returncode == 2 and said in done.stderr and 'baseline.json:1:' in done.stderr, done


# ---- divided work ----

def test_shards_do_the_same_whatever_their_number_is(root):
    driver = built('leak')
    whole = os.path.join(root, 'whole')
    campaign(driver, whole, '--jobs', '3', seeds=first(15), status=1)
    for count in (2, 3):
        parts = []
        for shard in range(count):
            parts.append(os.path.join(root, f'{count}-{shard}'))
            campaign(driver, parts[-1], '--shard', f'{shard}/{count}', seeds=first(15), status=1)
            assert {run['seed'] % count for run in results(parts[-1])[1]} == {shard}
        union = {}
        for part in parts:
            union.update(runs_of(part))
        assert union == runs_of(whole)
        joined = os.path.join(root, f'joined{count}')
        done = verify('merge', '--report', joined, *parts, parts[0])
        assert done.returncode == 1 and f'{some(15)} seeds' in done.stdout, done
        same_findings(joined, whole)
        done = verify('merge', *parts[1:])
        assert 'seeds are missing' in done.stdout, done


def same_findings(one, other):
    """With the same examples, counts and folders."""
    def of(report):
        run = reports.read_sarif(os.path.join(report, 'report.sarif'))
        reports.read_junit(os.path.join(report, 'junit.xml'))
        return {result['partialFingerprints']['dxgkRuleFrame/v1']:
                (result['ruleId'], result['occurrenceCount'], result['properties']) for result in run['results']}
    assert of(one) == of(other), (of(one), of(other))
    for report in (one, other):
        folders = sorted(path.name for path in pathlib.Path(report, 'failing').iterdir())
        assert folders == sorted(f'{rule}-{mark}' for mark, (rule, _, _) in of(one).items()), folders
        for folder in pathlib.Path(report, 'failing').iterdir():
            assert (folder / 'script.dxgk').read_text() == (pathlib.Path(one, 'failing') / folder.name / 'script.dxgk').read_text()


def test_gnu_parallel_runs_the_shards_whatever_the_folder_is_called(root):
    if not shutil.which('parallel'):
        raise tap.Skip('GNU parallel is not installed')
    report = os.path.join(root, 'a name with $pace')
    environment = {**os.environ, 'DXGK': DXGK, 'DRIVER': EXAMPLE, 'EXERCISER': EXERCISER, 'REPORT': report, 'SHARDS': '3',
                   'AT_A_TIME': '2', 'SEEDS': first(15)}
    done = subprocess.run(['bash', PROJECT / 'examples/campaign/parallel.sh'], env=environment, capture_output=True, text=True,
                          check=False, timeout=200)
    assert done.returncode == 0 and f'{some(15)} seeds' in done.stdout and 'nothing found' in done.stdout, done


def test_parts_of_different_drivers_are_not_joined(root):
    one, other = os.path.join(root, 'one'), os.path.join(root, 'other')
    campaign(EXAMPLE, one, '--plan', 'none', seeds='1')
    campaign(built('unsteady'), other, '--plan', 'none', seeds='1')
    done = verify('merge', one, other)
    assert done.returncode == 2 and 'another driver' in done.stderr, done


def test_a_campaign_that_ran_out_of_time_goes_on_where_it_was(root):
    report, whole = os.path.join(root, 'r'), os.path.join(root, 'whole')
    driver = built('leak')
    campaign(driver, whole, seeds=first(30), status=1)
    rounds = 0
    while rounds < 40:
        rounds += 1
        done = verify(driver, '--exerciser', EXERCISER, '--seeds', first(30), '--minutes', '0.001', '--report', report,
                      '--timeout', '20')
        with open(os.path.join(report, 'cursor'), encoding='utf-8') as file:
            cursor = json.load(file)
        assert cursor['missing'] == some(30) - len({run['seed'] for run in results(report)[1] if run.get('last')}), cursor
        if cursor['complete']:
            break
        assert f"{cursor['missing']} seeds are missing, from {cursor['next']} on" in done.stdout, (cursor, done.stdout)
    assert cursor['complete'], cursor
    assert runs_of(report) == runs_of(whole)
    same_findings(report, whole)


def test_a_campaign_that_was_killed_goes_on_where_it_was(root):
    report = os.path.join(root, 'r')
    command = [DXGK, 'verify', EXAMPLE, '--exerciser', EXERCISER, '--seeds', first(50), '--report', report, '--plan', 'none']
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = pathlib.Path(report, 'results.jsonl')
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not path.exists() or path.read_text().count('"last":true') < 5):
        time.sleep(0.02)
    running.kill()
    running.wait()
    done_before = path.read_text().count('"last":true')
    with open(path, 'a', encoding='utf-8') as file:
        file.write('{"type":"run","seed":')          # cut off in the middle of a line
    done = campaign(EXAMPLE, report, '--plan', 'none', seeds=first(50))
    assert 'going on after' in done.stderr and done_before >= 5, done
    runs = results(report)[1]
    assert sorted(run['seed'] for run in runs if run.get('last')) == list(range(some(50)))
    campaign(EXAMPLE, report, '--plan', 'none', seeds=first(50))       # it was complete: anew
    assert len(results(report)[1]) <= some(50) + 3


def test_a_signal_ends_it_with_its_reports(root):
    report = os.path.join(root, 'r')
    command = [DXGK, 'verify', built('leak'), '--exerciser', EXERCISER, '--minutes', '5', '--report', report, '--plan', 'none']
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    path = pathlib.Path(report, 'results.jsonl')
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not path.exists() or path.read_text().count('"last":true') < 5):
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGTERM, running.returncode
    assert 'NT-POOL-LEAK' in said and 'seeds are missing' in said, said
    assert reports.read_sarif(os.path.join(report, 'report.sarif'))['results']


# ---- texts of anybody's ----

def test_names_that_need_escaping_are_in_all_reports(root):
    driver = built('leak', 'a "b" <c> & \'d\' #e')
    report = os.path.join(root, 'r "1" <&>')
    done = campaign(driver, report, '--plan', 'none', '--tap', seeds='0..4', status=1)
    reports.read_tap(done.stdout)
    reports.read_junit(os.path.join(report, 'junit.xml'))
    run = reports.read_sarif(os.path.join(report, 'report.sarif'))
    uri = run['results'][0]['locations'][0]['physicalLocation']['artifactLocation']['uri']
    assert '%22b%22%20%3Cc%3E' in uri, uri
    assert results(report)[0]['driver'] == str(driver)


def test_the_environment_of_the_caller_does_not_matter(root):
    report = os.path.join(root, 'r')
    done = subprocess.run([DXGK, 'verify', EXAMPLE, '--exerciser', EXERCISER, '--seeds', '1..3', '--report', report],
                          env={**os.environ, 'DXGK_SEED': '5', 'DXGK_FAULT': 'remove-at 1', 'DXGK_PROFILE': '/nowhere',
                               'DXGK_TRACE': os.path.join(root, 't'), 'DXGK_SOCKET': '/nowhere'},
                          capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0 and not os.path.exists(os.path.join(root, 't')), done


def test_a_profile_gives_the_driver_its_registry(root):
    profile = os.path.join(root, 'profile.json')
    with open(profile, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'other', 'name': 'x "y"', 'registry': {'TdrDelay': 3, 'Deep': {'A': 1}}}]}, file)
    report = os.path.join(root, 'r')
    campaign(EXAMPLE, report, '--profile', profile, '--plan', 'preempt-always', seeds='1..2')
    with open(profile, 'w', encoding='utf-8') as file:
        file.write('{"adapters": []}')
    done = verify(EXAMPLE, '--profile', profile, '--report', report)
    assert done.returncode == 2 and 'it has no adapter' in done.stderr, done


tap.run_tests(globals())
