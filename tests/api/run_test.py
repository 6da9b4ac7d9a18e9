#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_test.py - dxgk run: the examples, what the software GPU does end to end, and every way to fail.

usage: run_test.py path-of-dxgk path-of-examples path-of-tools
"""

import os
import re
import subprocess
import sys

DXGK, EXAMPLES = sys.argv[1:3]
sys.path.insert(0, sys.argv[3])
import tap  # noqa: E402

# What each example shows; everything else in it is an expectation of its own.
SHOWN = {
    'destroy_while_busy': ['alice: active', 'bob: active'],
    'first_fill': [],
    'hang': ['alice: hung', 'bob: active', 'carol: active'],
    'offer': ['cache: kept', 'cache: discarded'],
    'oversubscription': ['alice: active'],
    'page_fault': ['alice: page fault, writing to 0x123450000',
                   'bob: page fault, writing to 0x200002000 (target+0x2000)',
                   'gone: out',
                   'carol: page fault, reading from 0x300003000 (gone+0x3000)',
                   'dave: page fault, reading from 0xdead000'],
    'pressure': ['cache: discarded'],
    'two_clients': [],
}

ALICE = '''client alice
context draw alice node 0
allocate picture alice 64K
map picture
resident picture
'''


def run(*arguments, text=None, **settings):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    environment.update(settings)
    return subprocess.run([DXGK, 'run', *arguments], env=environment, input=text,
                          capture_output=True, text=True, check=False, timeout=100)


def run_text(text, *arguments, **settings):
    return run('--quiet', *arguments, '-', text=text, **settings)


def expect(done, status, shown=None, said=''):
    assert done.returncode == status, done
    assert said in done.stderr, done
    if shown is not None:
        assert done.stdout.splitlines() == shown, done


def example(name):
    return os.path.join(EXAMPLES, name + '.dxgk')


# ---- examples ----

def test_there_is_a_test_for_every_example(root):
    there = {name[:-len('.dxgk')] for name in os.listdir(EXAMPLES) if name.endswith('.dxgk')}
    assert there == set(SHOWN), there


def test_every_example_does_what_it_says(root):
    for name, shown in SHOWN.items():
        expect(run('--quiet', example(name)), 0, shown)


def test_every_example_does_it_with_other_seeds(root):
    for name, shown in SHOWN.items():
        for seed in ('1', '25', '34', '38'):
            done = run('--quiet', '--seed', seed, example(name))
            assert done.returncode == 0, (name, seed, done)
            assert done.stdout.splitlines() == shown, (name, seed, done)


def test_a_seed_gives_the_same_run(root):
    for name in ('hang', 'oversubscription', 'page_fault'):
        first, second = (run('--verbose', '--seed', '7', example(name)) for _ in range(2))
        assert first.returncode == 0 and first.stdout == second.stdout, (name, first, second)


def test_the_seed_may_come_from_the_environment_or_the_script(root):
    for done in (run('--quiet', example('two_clients'), DXGK_SEED='3'),
                 run_text('seed 3\nadapter TdrDelay=86400\nclient a\ncontext c a node 0\n'
                          'submit c hang\nexpect STATUS_DEVICE_REMOVED wait c\n')):
        expect(done, 0)          # a day passes at once in virtual time
    expect(run_text('client a\n', DXGK_SEED='dice'), 2, said='"dice" is not a number')


# ---- the software GPU, end to end ----

def test_all_nodes_work_in_parallel_through_page_tables(root):
    engines = 4
    script = [f'adapter LocalMemoryMiB=16 CopyEngines={engines}', 'client a']
    for node in range(engines + 1):
        where = ('', 'local', 'system')[node % 3]
        script += [f'context n{node} a node {node}', f'allocate m{node} a 1M {where}',
                   f'allocate r{node} a 1M', f'map m{node}', f'map r{node}',
                   f'resident m{node} r{node}']
    for node in range(engines + 1):
        script += ['and' if node else 'parallel',
                   f'write r{node} random {node}', 'repeat 20',
                   f'submit n{node} fill m{node} {node} ; copy r{node}+5 to m{node}+5 size 70001',
                   'end', f'wait n{node}', f'check m{node} {node} size 5',
                   f'check m{node} random {node} at 5 size 70001',
                   f'check m{node} {node} at 70006']
    done = run('-', text='\n'.join(script + ['end', 'state a active']))
    expect(done, 0)
    for node in range(engines + 1):
        written = 20 * ((1 << 20) + 70001)
        assert re.search(rf'^node {node} .*: 20 packets, {written} bytes written$', done.stdout,
                         re.M), done.stdout


def test_every_shape_of_page_tables_leads_there(root):
    for levels in range(2, 6):
        for mode in ('gpu_physical', 'gpu_virtual', 'cpu_virtual'):
            done = run_text(f'adapter PageTableLevels={levels} PageTableUpdateMode={mode}\n'
                            f'{ALICE}submit draw fill picture 5\nwait draw\ncheck picture 5\n'
                            'submit draw write64 0x3ff000 1\n'
                            'expect STATUS_DEVICE_REMOVED wait draw\n'
                            'state alice page-fault 0x3ff000 write\n')
            expect(done, 0)


def test_what_is_mapped_and_never_resident_faults(root):
    expect(run_text('client a\ncontext c a node 1\nallocate m a 64K\nmap m at 0x10000000\n'
                    'submit c copy m+4K to m size 4K\nexpect STATUS_DEVICE_REMOVED wait c\n'
                    'state a page-fault m+4K read\n'),
           0, ['a: page fault, reading from 0x10001000 (m+0x1000)'])


def test_work_between_resident_and_evict_finds_its_memory(root):
    script = ('adapter LocalMemoryMiB=4\nclient a\ncontext c a node 0\nallocate m a 1M local\n'
              'map m\nrepeat 40\nresident m\nsubmit c busy 20us ; fill m 7\nevict m\nwait c\n'
              'end\nwait m\nwhere m out\ncheck m 7\n')
    for options in ((), ('--seed', '1'), ('--seed', '2'), ('--seed', '3')):
        expect(run_text(script, *options), 0, ['m: out'])


def test_work_in_front_of_an_offer_finds_its_memory(root):
    script = ('adapter LocalMemoryMiB=4\nclient a\ncontext c a node 0\nallocate m a 1M local\n'
              'map m\nrepeat 20\nresident m\nsubmit c fill m 7\nwait c\nevict m\nresident m\n'
              'submit c busy 20us ; fill m 8\noffer m\nwait c\nreclaim m kept\nevict m\nend\n'
              'check m 8\n')
    for options in ((), ('--seed', '1'), ('--seed', '2'), ('--seed', '3')):
        expect(run_text(script, *options), 0, ['m: kept'] * 20)


def test_an_address_that_was_freed_faults_and_the_new_one_works(root):
    expect(run_text(ALICE + 'unmap picture\nmap picture at 0x70000000\n'
                    'submit draw fill picture 2\nwait draw\ncheck picture 2\nunmap picture\n'
                    'submit draw fill 0x70000000 3 size 4K\n'
                    'expect STATUS_DEVICE_REMOVED wait draw\n'
                    'state alice page-fault 0x70000000 write\n'), 0)


def test_commands_that_are_wrong_are_faults_without_an_address(root):
    for command in ('fill picture+2 1 size 4', 'fill picture 1 size 6', 'write64 picture+4 1'):
        expect(run_text(f'{ALICE}submit draw {command}\nexpect STATUS_DEVICE_REMOVED wait draw\n'
                        'state alice fault\n'), 0, ['alice: fault'])


def test_a_fault_takes_its_client_and_leaves_the_node_to_others(root):
    expect(run_text(f'''{ALICE}client bob
context other bob node 0
allocate mine bob 64K
map mine
resident mine
repeat 5
	submit other busy 1ms ; fill mine 9
end
submit draw fault 0x5000 read
repeat 5
	submit other busy 1ms ; fill mine 8
end
wait other
check mine 8
expect STATUS_DEVICE_REMOVED wait draw
state alice page-fault 0x5000 read
state bob active
'''), 0)


def test_hangs_on_all_nodes_at_once_are_found_and_everybody_else_goes_on(root):
    branches = '\nand\n'.join(
        f'client c{node}\ncontext x{node} c{node} node {node}\nsubmit x{node} hang\n'
        f'expect STATUS_DEVICE_REMOVED wait x{node}\nstate c{node} hung' for node in range(3))
    expect(run_text(f'adapter TdrDelay=1\n{ALICE}parallel\n{branches}\nand\n'
                    'repeat 10\nsubmit draw fill picture 3\nend\nwait draw\ncheck picture 3\n'
                    'end\nstate alice active\n', '--seed', '5'), 0)


def test_work_is_late_when_it_does_not_let_itself_be_preempted(root):
    expect(run_text('''adapter TdrDelay=1
client a
client b
client c no-timeout
context slow a node 0
context quick b node 0
context bad b node 1 stubborn
context free c node 2 stubborn
submit slow busy 20s
priority quick 5
submit quick nop
wait quick
wait slow
state a active
submit free busy 20s
submit bad busy 20s
expect STATUS_DEVICE_REMOVED wait bad
wait free
state b hung
state c active
''', '--seed', '1'), 0, ['a: active', 'b: hung', 'c: active'])


def test_a_client_is_destroyed_while_its_work_hangs(root):
    expect(run_text('adapter TdrDelay=1\n' + ALICE + 'submit draw hang\ndestroy alice\n'
                    'expect STATUS_INVALID_PARAMETER:API-HANDLE state alice\n', '--seed', '1'), 0)


def test_fences_order_the_clients_of_a_gpu(root):
    expect(run_text(f'''{ALICE}client bob
context move bob node 1
fence one alice shared
open first bob one
allocate copied bob 64K
map copied
resident copied
wait first 1 by move
submit move copy picture to copied
submit draw busy 3ms ; fill picture 0x77
signal one 1 by draw
wait move
check copied 0x77
signal one 5
wait one 5
'''), 0)


# ---- what is said ----

def test_verbose_has_a_line_for_each_statement(root):
    done = run('--verbose', '-', text=ALICE + 'echo # nothing\necho so  far\n')
    expect(done, 0)
    lines = done.stdout.splitlines()
    assert lines[0] == '1: client alice -> STATUS_SUCCESS', done
    assert re.fullmatch(r'4: map picture -> STATUS_PENDING, at 0x[0-9a-f]+', lines[3]), done
    assert lines[5:7] == ['', 'so  far'], done
    assert re.match(r'\d+ calls; 0 packets preempted, 0 faulted, 0 engine resets', lines[7]), done


def test_the_first_surprise_ends_the_run(root):
    done = run_text(ALICE + 'write picture 5\ncheck picture 5 size 16\ncheck picture 6 at 8\n'
                    'echo not reached\n')
    expect(done, 1, [], '-:8: check picture 6 at 8: the byte at picture+0x8 is 0x05, '
           'expected 0x06\n')
    expect(run_text(ALICE + 'map picture at 0x1001\n'), 1, [], '(VA-ALIGNMENT)')
    expect(run_text(ALICE + 'expect STATUS_NO_MEMORY wait draw\n'), 1, [], 'STATUS_SUCCESS')
    expect(run_text(ALICE + 'destroy picture\nexpect STATUS_INVALID_PARAMETER:API-VALUE '
                    'map picture\n'), 1, [], 'the rule was API-HANDLE')
    expect(run_text(ALICE + 'state alice hung\n'), 1, [], 'state alice hung: alice: active')
    expect(run_text(ALICE + 'where picture out\n'), 1, [], 'picture: local')
    expect(run_text(ALICE + 'offer picture\nreclaim picture discarded\n'), 1, [], 'picture: kept')
    expect(run_text('repeat 2\nclient a\nend\n'), 1, [], '-:2: client a: there is one already')
    expect(run_text(ALICE + 'submit draw fault 0x7000 write\nwait draw\n'), 1, [],
           'STATUS_DEVICE_REMOVED; alice: page fault, writing to 0x7000')


def test_a_page_fault_elsewhere_or_of_another_kind_is_a_surprise(root):
    fault = ALICE + 'submit draw fault 0x7000 write\nexpect STATUS_DEVICE_REMOVED wait draw\n'
    expect(run_text(fault + 'state alice page-fault 0x7000 write\n'), 0)
    expect(run_text(fault + 'state alice page-fault 0x7001 write\n'), 1)
    expect(run_text(fault + 'state alice page-fault 0x7000 read\n'), 1)


def test_a_surprise_in_one_branch_ends_the_others(root):
    expect(run_text('client a\nfence f a\nparallel\nrepeat 1000000\nsignal f 0\nend\nand\n'
                    'expect STATUS_NO_MEMORY wait a\nend\necho not reached\n'), 1, [])


def test_what_is_not_understood_does_not_run(root):
    path = os.path.join(root, 'wrong.dxgk')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('echo hello\nclient alice\ncontext draw alicia node 0\n')
    expect(run(path), 2, [],
           f'{path}:3:14: "alicia": expected a client, and nothing above has this name\n')
    expect(run(path, '--check'), 2, [])
    expect(run(os.path.join(root, 'none.dxgk')), 2, [], 'none.dxgk: No such file')
    expect(run(root), 2, [], 'Is a directory')
    expect(run(), 2, [], 'expected one SCRIPT')
    expect(run('a', 'b'), 2, [], 'expected one SCRIPT')
    expect(run('--seed', 'x', 'a'), 2, [], '"x" is not a number')
    expect(run('--seed', '-1', 'a'), 2, [], '"-1" is not a number')
    expect(run('--fast', 'a'), 2, [])
    expect(run('--help'), 0)


def test_check_reads_and_does_not_run(root):
    expect(run_text('echo hello\n', '--check'), 0, [])


def test_an_adapter_that_does_not_start_is_a_failure(root):
    expect(run_text('adapter LocalMemoryMiB=0\nclient a\n'), 1, [], 'no adapter started')
    expect(run_text('adapter AddressModel=physical\nclient a\n'
                    'expect STATUS_INVALID_PARAMETER:API-VALUE context c a node 0\n'), 0)
    expect(run_text('client a\nexpect STATUS_INVALID_PARAMETER context c a node 60\n'), 0)


def test_a_profile_is_looked_for_beside_the_script(root):
    tap.write_tree(root, {
        'gpu/small.json': '{"adapters": [{"driver": "soft", "registry": {"LocalMemoryMiB": 2}}]}',
        'gpu/a.dxgk': 'profile small.json\nclient a\nallocate m a 4M local\n'
                      'expect STATUS_NO_MEMORY resident m\n',
        'gpu/b.dxgk': 'profile none.json\nclient a\n',
    })
    expect(run('--quiet', os.path.join(root, 'gpu/a.dxgk')), 0)
    expect(run('--quiet', os.path.join(root, 'gpu/b.dxgk')), 1, [], 'none.json')


tap.run_tests(globals())
