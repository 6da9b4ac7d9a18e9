#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""words_test.py - check_words.py finds what should not stay."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_words
import tap

MACHINE = '/' + 'root' + '/'


LICENCE = 'SPDX-License-Identifier: MIT'


def problems(root, path, text):
    """Of a file whose first line has a licence behind what it begins with."""
    tap.write_tree(root, {path: text.replace('\n', f' /* {LICENCE} */\n', 1)})
    return [p for _, found in check_words.check(root) for p in found]


def test_ordinary_text_is_accepted(root):
    assert problems(root, 'src/base/a.c', '/* stubborn, hacksaw, for nowhere, xxxl */\n') == []


def test_leftovers_are_reported_whatever_their_case(root):
    for word in ('TO' + 'DO', 'fix' + 'me', 'X' * 3, 'ha' + 'ck', 'st' + 'ub', 'for ' + 'now'):
        found = problems(root, 'drivers/soft/a.c', f'int a;\n/* {word}: */\n')
        assert len(found) == 1 and found[0].startswith('drivers/soft/a.c:2: '), (word, found)


def test_leftovers_are_about_code_only(root):
    assert problems(root, 'docs/a.md', 'a st' + 'ub is not accepted\n') == []


def test_names_that_were_given_up_are_reported(root):
    for name in ('pci' + '_space_read', 'queue' + '_place_locked', 'under' + 'taker', 'symbol' + '_place'):
        found = problems(root, 'src/nt/a.c', f'int {name};\n')
        assert len(found) == 1 and name in found[0], (name, found)


def test_room_is_free_memory_and_nothing_else(root):
    for name in ('room', 'has_room', 'list_room', 'REPLY_ROOM_BYTES'):
        assert len(problems(root, 'cli/a.c', f'int {name};\n')) == 1, name
    assert problems(root, 'cli/a.c', 'int a; /* there is room */\nconst char *b = "room";\n') == []
    os.remove(f'{root}/cli/a.c')
    assert problems(root, 'src/vidmm/a.c', 'int room;\n') == []


def test_machine_paths_are_reported_in_every_file(root):
    for path in ('README.md', 'tools/a.py', 'src/base/a.c', 'tests/data.json'):
        found = problems(root, path, f'see "{MACHINE}x"\n')
        assert found and found[0].startswith(f'{path}:1: '), found
        os.remove(f'{root}/{path}')


def test_what_is_not_text_is_reported(root):
    found = problems(root, 'core', 'ELF\0\n')
    assert len(found) == 1 and found[0].startswith('core: '), found


def test_such_a_word_inside_a_longer_path_is_fine(root):
    assert problems(root, 'a.md', f'build{MACHINE}x and ~{MACHINE}y and {MACHINE[:-1]}s/\n') == []


def test_a_file_of_800_lines_is_the_longest(root):
    assert problems(root, 'src/base/a.c', 'int a;\n' * 800) == []
    found = problems(root, 'src/base/a.c', 'int a;\n' * 801)
    assert len(found) == 1 and '801 lines' in found[0], found


def test_a_source_without_a_licence_is_reported(root):
    tap.write_tree(root, {'src/a/a.c': 'int a;\n', 'src/a/meson.build': '# words\n', 'a.md': 'words\n', 'b.py': f'# {LICENCE}\n'})
    found = [p for _, each in check_words.check(root) for p in each]
    assert found == ['src/a/a.c:1: no SPDX-License-Identifier', 'src/a/meson.build:1: no SPDX-License-Identifier'], found


def test_headers_and_abi_tables_may_be_longer(root):
    assert problems(root, 'include/dxg/d3dkmthk.h', 'int a;\n' * 5000) == []
    assert problems(root, 'tests/abi/table.c', 'int a;\n' * 5000) == []


tap.run_tests(globals())
