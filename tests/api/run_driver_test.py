#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_driver_test.py - dxgk run on drivers that it does not know: by exercisers, good, bad and absent.

usage: run_driver_test.py dxgk examples tools soft.so soft_exerciser.so one-of-the-test-exercisers
"""

import os
import shutil
import subprocess
import sys

DXGK, EXAMPLES = sys.argv[1:3]
SOFT, SOFT_EXERCISER = sys.argv[4:6]
FOLDER = os.path.dirname(os.path.abspath(sys.argv[6]))
sys.path.insert(0, sys.argv[3])
import tap  # noqa: E402

ALICE = '''client alice
context draw alice node 0
allocate picture alice 64K
map picture
resident picture
'''


def run(*arguments, text=None):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    return subprocess.run([DXGK, 'run', '--quiet', *arguments], env=environment, input=text,
                          capture_output=True, text=True, check=False, timeout=100)


def run_text(text, *arguments):
    return run(*arguments, '-', text=text)


def exerciser(name):
    return os.path.join(FOLDER, f'exerciser_{name}.so')


def expect(done, status, said='', shown=None):
    assert done.returncode == status, done
    assert said in done.stderr, done
    if shown is not None:
        assert done.stdout.splitlines() == shown, done


def test_the_software_gpu_does_the_same_by_an_exerciser_that_was_loaded(root):
    for name in sorted(os.listdir(EXAMPLES)):
        if name.endswith('.dxgk'):
            path = os.path.join(EXAMPLES, name)
            built_in, loaded = run(path), run('--exerciser', SOFT_EXERCISER, path)
            assert built_in.returncode == 0, built_in
            assert (built_in.stdout, built_in.stderr) == (loaded.stdout, loaded.stderr), loaded
            assert loaded.returncode == 0, loaded


def test_a_driver_and_its_exerciser_are_looked_for_beside_the_script(root):
    os.mkdir(os.path.join(root, 'gpu'))
    shutil.copy(SOFT, os.path.join(root, 'gpu/mine.so'))
    shutil.copy(SOFT_EXERCISER, os.path.join(root, 'gpu/ex.so'))
    tap.write_tree(root, {
        'gpu/a.dxgk': f'driver mine.so\nadapter LocalMemoryMiB=2\nexerciser ex.so\n{ALICE}'
                      'submit draw fill picture 7\nwait draw\ncheck picture 7\n'
                      'allocate large alice 4M local\nexpect STATUS_NO_MEMORY resident large\n',
        'gpu/b.dxgk': 'driver none.so\nclient a\n',
        'gpu/c.dxgk': 'driver mine.so\nexerciser none.so\nclient a\n',
    })
    expect(run(os.path.join(root, 'gpu/a.dxgk')), 0)
    expect(run(os.path.join(root, 'gpu/b.dxgk')), 1, 'DDI-IMAGE-FIND')
    expect(run(os.path.join(root, 'gpu/c.dxgk')), 1, 'gpu/none.so')


def test_the_command_line_goes_before_the_script(root):
    text = ('driver nothing.so\nexerciser nothing.so\n' + ALICE +
            'submit draw fill picture 7\nwait draw\ncheck picture 7\n')
    expect(run_text(text, '--driver', SOFT, '--exerciser', SOFT_EXERCISER), 0)
    expect(run_text(text, '--driver', 'soft', '--exerciser', SOFT_EXERCISER), 0)
    expect(run_text(text, '--exerciser', SOFT_EXERCISER), 1, 'nothing.so')


def test_what_is_no_exerciser_is_refused_with_a_sentence(root):
    for name, sentence in (
            ('no_symbol', 'exports no dxgk_exerciser'),
            ('null_table', 'dxgk_exerciser() returned NULL'),
            ('new_version', 'its version is another one: version 9'),
            ('short_table', 'its table is too short: version 1 and 16 bytes'),
            ('not_there', 'cannot be loaded')):
        expect(run_text('client a\n', '--exerciser', exerciser(name)), 1, sentence)
    garbage = os.path.join(root, 'garbage.so')
    with open(garbage, 'w', encoding='utf-8') as file:
        file.write('no library\n')
    expect(run_text('client a\n', '--exerciser', garbage), 1, 'cannot be loaded')


def test_one_that_says_it_wrote_too_much_ends_the_run(root):
    # It may have written over anything: what comes afterwards would be blamed on the driver.
    expect(run_text('client a\nallocate m a 64K\n', '--exerciser', exerciser('lies')), 2,
           'the exerciser says that it wrote 4097 bytes where there was room for 4096')


def test_what_an_exerciser_does_not_have_is_left_out_with_a_note(root):
    done = run_text(f'''{ALICE}submit draw fill picture 7 ; busy 10us
wait draw
check picture 7
write picture 9
submit draw copy picture to picture+32K size 4K
wait draw
check picture 9
submit draw hang
expect STATUS_DEVICE_REMOVED wait draw
state alice hung
write picture 5
check picture 5
submit draw nop
''', '--exerciser', exerciser('little'))
    expect(done, 0)
    lines = done.stderr.splitlines()
    assert [line.split(':')[1] for line in lines] == ['10', '12', '13', '14', '15', '18'], lines
    assert 'submit draw copy picture to picture+32K size 4K: left out: the exerciser has nothing ' \
        'for command 1' in lines[0], lines
    assert 'check picture 9: left out: what is in picture is not known' \
        in lines[1], lines
    assert 'work of its client was left out' in lines[3], lines


def test_without_an_exerciser_the_rest_works(root):
    done = run_text(f'''exerciser none
{ALICE}submit draw fill picture 7
check picture 7
fence f alice
signal f 5 by draw
wait f 5
wait draw
priority draw 3
destroy draw
destroy alice
''')
    expect(done, 0)
    left = [line.split(':')[1] for line in done.stderr.splitlines()]
    assert left == ['4', '5', '6', '7', '8'], done


tap.run_tests(globals())
