#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""commands_test.py - check_commands.py finds what a reader of the pages would type in vain."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_commands
import tap

PROJECT = {
    'Makefile': 'PREFIX ?= /usr\nrun:\n\ttrue\nabi-new:\n\ttrue\n',
    'cli/main.c': '\t{ "run", cmd_run, "x" },\n\t{ "ctl", cmd_ctl, "x" },\n',
    'cli/cmd_run.c': '{ "seed", required_argument, 0 }, { "help", no_argument, 0 }\n'
                     'getopt_long(argc, argv, "s:h", options, NULL)\n',
    'cli/cmd_ctl.c': '{ "socket", required_argument, 0 }\n\t{ "evict-all", 0, x },\n',
    'cli/meson.build': "executable('dxgk', 'main.c')\n",
    'src/base/log.c': 'getenv("DXGK_LOG");\n',
    'drivers/common/settings.c': '\t{ L"CopyEngines", "CopyEngines" },\n',
    'src/miniport/tdr_settings.c': 'number_of(miniport, "TdrLevel", 0, 3, 3);\n'
                                   'number_in(miniport, SCHEDULER, "QuantumMs", 1);\n',
    'embed/config.c': '\t{ "driver", read_driver },\n',
    'include/ddk/a.h': 'DXGK_OPERATION_FILL\n',
    'examples/a.dxgk': '',
    'docs/softgpu.md': '| `CopyEngines` | 2 |\n| `NOP` | |\n',
    'docs/profile.md': '| `driver` | x |\n| `TdrLevel` | 3 |\n| `QuantumMs` | 20 |\n',
    'docs/man/dxgk.1.scd': '# SYNOPSIS\n\n*dxgk run* [--seed _N_]++\n*dxgk ctl* --socket _PATH_\n\n'
                           '# DESCRIPTION\n\n*dxgk ctl* controls\n\n*evict-all*\n\tx\n',
    'docs/man/opendxgk.7.scd': '# ENVIRONMENT\n\n*DXGK_LOG*\n\tx\n',
    'build-info/meson-info/intro-tests.json': json.dumps([
        {'name': 'handle/table', 'suite': ['opendxgk:handle']}]),
}


def problems(root, path='README.md', text='', **files):
    tap.write_tree(root, {**PROJECT, **files})
    before = PROJECT.get(path, '')
    tap.write_tree(root, {path: before + text})
    return [p for _, found in check_commands.check(root, f'{root}/build-info') for p in found]


def one(root, text, expected, path='README.md'):
    found = problems(root, path, text)
    assert len(found) == 1 and expected in found[0] and found[0].startswith(path + ':'), found


def test_what_exists_is_accepted(root):
    assert problems(root, text='`make run PREFIX=/x` `make abi-new`, `man dxgk`, `dxgk run --seed 7 '
                    'examples/a.dxgk`, `DXGK_LOG=all build/cli/dxgk ctl --socket P evict-all`, '
                    '`base/log.c`, `cli/`, `examples/*.dxgk`, `dxgk --version`, [a](docs/profile.md#x) '
                    '`DXGK_OPERATION_FILL` `build/x.html`\n\n    meson test -C build handle/table\n'
                    '    meson test -C build --suite handle   # a comment\n') == []


def test_a_function_that_no_code_has(root):
    one(root, 'told by `log_say()`\n', 'no log_say()')
    one(root, 'a line (`struct log_line`)\n', 'no struct log_line')
    one(root, '```\n   log_cry()   what is done\n```\n', 'no log_cry()')


def test_a_function_that_is_elsewhere(root):
    one(root, '`getenv()` in `embed/config.c`\n', 'getenv() is not in embed/config.c')
    assert problems(root, text='`getenv()` in `src/base/log.c`, `getenv()` in `base/log.c`, `get…()`, `…_say()`\n') == []


def test_a_comment_that_names_what_is_gone(root):
    for comment, expected in (('see log_say()', 'no log_say()'), ('as in base/gone.c', 'no base/gone.c')):
        found = problems(root, **{'src/base/a.c': f'int a;\n/* Why,\n * {comment}. */\n'})
        assert found == [f'src/base/a.c:3: there is {expected}'], found
    assert problems(root, **{'src/base/a.c': '/* getenv() of log.c, base/log.c; <gone.h> is not ours. */\n'}) == []


ROWS = {
    'a target or variable make does not have': ('`make walk`\n', 'no target walk'),
    'a variable make does not have': ('```\nmake run PREFX=/x   # comment\n```\n', 'no variable PREFX'),
    'a verb that dxgk does not have': ('`dxgk walk`\n', 'no verb walk'),
    'an option that the verb does not have': ('`build/cli/dxgk run --sed 7 a`\n', 'run has no option --sed'),
    'a control that ctl does not have': ('`dxgk ctl evict-none`\n', 'no control evict-none'),
    'a test and a suite that meson does not have': ('    X=1 meson test -C build handle\n', 'no test handle'),
    'a suite that meson does not have': ('`meson test -C build --suite habit`\n', 'no suite habit'),
    'a page that is not written': ('`man dxgk-walk`\n', 'no page dxgk-walk'),
    'files that are not there': ('see `base/lo.c`\n', 'no base/lo.c', 'docs/profile.md'),
    'an example that is not there': ('`dxgk run examples/b.dxgk`\n', 'no examples/b.dxgk'),
    'a program that is not built': ('`build/cli/dxgkk run`\n', 'build/cli/dxgkk is not built'),
    'a link that leads nowhere': ('see [x](profil.md#a)\n', 'no docs/profil.md', 'docs/profile.md'),
    'a variable that nobody reads': ('DXGK_LOGS is nothing\n', 'nobody reads DXGK_LOGS'),
    'a bold command of a man page': ('\nCall *dxgk run --sed 7* x.\n', 'no option --sed', 'docs/man/opendxgk.7.scd'),
}
tap.rows(globals(), one, ROWS)


def test_an_option_behind_two_dashes_is_another_programs(root):
    assert problems(root, text='`dxgk run -- program --sed`\n') == []


def test_what_is_read_is_documented(root):
    for path, text, expected in (
            ('src/base/sim.c', 'getenv("DXGK_SEED")', 'reads DXGK_SEED'),
            ('cli/cmd_run.c', PROJECT['cli/cmd_run.c'] + '{ "check", no_argument, 0 }', '--check'),
            ('cli/cmd_ctl.c', PROJECT['cli/cmd_ctl.c'] + '\t{ "wake", 0, x },\n', 'control wake'),
            ('drivers/common/settings.c', '\t{ L"Odd", "Odd" },\n\t{ L"CopyEngines", "C" },\n', 'Odd'),
            ('docs/softgpu.md', PROJECT['docs/softgpu.md'] + '| `Odd` | 1 |\n', 'Odd'),
            ('docs/profile.md', '| `driver` | x |\n| `TdrLevel` | 3 |\n', 'QuantumMs'),
            ('docs/profile.md', PROJECT['docs/profile.md'] + '| `odd` | x |\n', 'has odd'),
            ('embed/config.c', PROJECT['embed/config.c'] + '{ "pci", config_read_pci }', 'pci')):
        found = problems(root, **{path: text})
        assert len(found) == 1 and expected in found[0], (path, found)
        tap.write_tree(root, {path: PROJECT.get(path, '')})


def test_scripts_and_their_page_have_the_same_statements(root):
    script = {'cli/run/reader.c': '} verbs[] = {\n\t{ "map", VERB_MAP },\n\t{ "kill", VERB_KILL },\n};\n',
              'cli/run/reader_names.c': '} option_words[] = {\n\t{ "low", OPTION_LOW },\n};\n',
              'cli/run/reader_submit.c': '} setting_keys[] = {\n\t{ "CopyEngines", false },\n};\n'}
    page = 'docs/man/dxgk-run.5.scd'
    right = ('# SETTINGS\n\n\tCopyEngines\n\n# STATEMENTS: ALL\n\n*map* _X_ [*low*], *kill* _X_\n\tx\n\n'
             '*expect* _X_\n\tx\n\n\t*nop*++\n*fill*\n\n# SEE ALSO\n')
    assert problems(root, **script, **{page: right}) == []
    for text, expected in ((right.replace('*kill*', 'kill'), 'cli/run/reader.c: the word kill'),
                           (right.replace('*low*', 'low'), 'cli/run/reader_names.c: the word low'),
                           (right.replace('CopyEngines', ''), 'the setting CopyEngines'),
                           (right.replace('*expect*', '*hope*'), f'{page}:10: scripts have no statement hope')):
        found = problems(root, **script, **{page: text})
        assert len(found) == 1 and expected in found[0], (expected, found)


def test_workloads_and_faults_have_their_rows(root):
    campaign = {'cli/verify/workloads.c': 'WORKLOAD(start, "W00", "start", 0)\n',
                'src/verify/plan.def': 'FAULT(RESTART, "restart", NONE)\n'}
    page = 'docs/verify.md'
    right = '| W00 start | | x |\n\n| F9 | `restart` | x |\n'
    assert problems(root, **campaign, **{page: right}) == []
    for old, new, expected in (('W00', 'W01', {'cli/verify/: W00 start is not in docs/verify.md', f'{page}: there is no W01 start'}),
                               ('restart', 'stop', {'src/verify/plan.def: restart is not in docs/verify.md',
                                                    f'{page}: there is no fault stop'})):
        found = problems(root, **campaign, **{page: right.replace(old, new)})
        assert set(found) == expected, found


def test_a_folder_that_architecture_does_not_tell_of(root):
    page = {'docs/architecture.md': '`base/`, `nt/`, `cli/`, `drivers/`, `embed/`, `miniport/`, `server/`\n'}
    found = problems(root, **page, **{'src/nt/a.c': '', 'src/object/fence/b.c': ''})
    assert found == ['docs/architecture.md: does not say what is in src/object/fence/'], found


def test_a_program_in_c_is_not_a_command(root):
    assert problems(root, text='```c\nmake walk\n```\n') == []


def test_a_verb_may_have_a_page_of_its_own_and_options_in_its_folder(root):
    more = {'cli/run/replay.c': '{ "trace", required_argument, 0 }',
            'docs/man/dxgk-run.1.scd': '# SYNOPSIS\n\n*dxgk run* replay [--trace _FILE_] [--seed _N_]\n'}
    assert problems(root, **more) == []
    found = problems(root, **{**more, 'docs/man/dxgk-run.1.scd': '# SYNOPSIS\n\n*dxgk run* [--seed _N_]\n'})
    assert found == ['cli/cmd_run.c: --trace is not in docs/man/dxgk-run.1.scd'], found


tap.run_tests(globals())
