#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exports_test.py - check_exports.py sees a name or a type of the exported interface change."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_exports
import tap

if not all(shutil.which(tool) for tool in ('gcc', 'nm', 'abidiff', 'abidw')):
    sys.exit(tap.report([], skip='gcc, nm and abigail-tools are needed'))

HEADER = 'struct args { unsigned a; void *p; };\nint Open(const struct args *);\nint Close(int);\n'
SOURCE = ('#include <dxg/api.h>\nint Open(const struct args *a) { return !a; }\n'
          'int Close(int h) { return h; }\nint hidden(void) { return 1; }\n')
MAP = 'DX_1 {\n\tglobal:\n\t\tOpen; /* Gone; */\n\t\tClose;\n\tlocal:\n\t\t*;\n};\n'
LIST = '# names\nClose\nOpen\n'


def library(root, header=HEADER, source=SOURCE, script=MAP, names=LIST, linked=None,
            declared=''):
    tap.write_tree(root, {'include/dxg/api.h': header, 'a.c': source,
                          check_exports.MAP: script, check_exports.LIST: names,
                          check_exports.HEADER: declared,
                          'linked.map': linked or script, 'tests/abi/.keep': ''})
    path = f'{root}/lib.so'
    subprocess.run(['gcc', '-g', '-shared', '-fPIC', '-Iinclude', 'a.c', '-o', path,
                    '-Wl,--version-script=linked.map'], check=True, cwd=root)
    return path


def problems(root, path):
    return [p for _, found in check_exports.check(root, path) for p in found]


def test_the_promised_interface_is_accepted(root):
    path = library(root)
    check_exports.write_baseline(root, path)
    assert problems(root, path) == []


def test_a_missing_baseline_is_reported(root):
    found = problems(root, library(root))
    assert len(found) == 1 and 'make abi-baseline' in found[0], found


def test_a_name_missing_from_the_list_is_reported(root):
    path = library(root, names='Open\n')
    check_exports.write_baseline(root, path)
    found = problems(root, path)
    assert len(found) == 2 and all('Close' in problem for problem in found), found


def test_a_name_that_is_declared_and_not_exported_is_reported(root):
    path = library(root, declared='typedef int(APIENTRY *PFND3DKMT_LOCK)(int);\n'
                                  'int APIENTRY D3DKMTLock(int);\n')
    check_exports.write_baseline(root, path)
    found = problems(root, path)
    assert found == [f'D3DKMTLock is in {check_exports.HEADER} but not in {check_exports.LIST}'], found


def test_a_name_that_leaks_out_is_reported(root):
    path = library(root, linked=MAP.replace('Close;', 'Close; hidden;'))
    check_exports.write_baseline(root, path)
    found = problems(root, path)
    assert found == [f'hidden is in the library but not in {check_exports.LIST}'], found


def test_a_pattern_in_the_version_script_is_reported(root):
    path = library(root, script=MAP.replace('Open;', 'O*;'))
    check_exports.write_baseline(root, path)
    assert 'is a pattern' in problems(root, path)[0]


def test_a_field_that_moves_is_reported(root):
    check_exports.write_baseline(root, library(root))
    found = problems(root, library(root, header=HEADER.replace('unsigned a;', 'unsigned a, b, c;')))
    assert 'if that is meant: make abi-baseline' in found, found


def test_a_parameter_that_changes_is_reported(root):
    check_exports.write_baseline(root, library(root))
    found = problems(root, library(root, header=HEADER.replace('Close(int)', 'Close(long)'),
                                   source=SOURCE.replace('Close(int', 'Close(long')))
    assert 'if that is meant: make abi-baseline' in found, found


def test_a_baseline_names_no_machine(root):
    check_exports.write_baseline(root, library(root))
    with open(f'{root}/{check_exports.BASELINE}', encoding='utf-8') as file:
        assert root not in file.read()


def symbols(root, path, text):
    tap.write_tree(root, {'debian/libdxcore.symbols': text, 'meson.build': "project('x', version: '1.2.3')\n"})
    named = f'{root}/libdxcore.so'
    shutil.copy(path, named)
    return named


def test_the_symbols_file_of_the_package_is_held_to(root):
    named = symbols(root, library(root), 'lib.so libdxcore #MINVER#\n Gone@Base 1.0.0\n Open@Base 1.0.0\n')
    found = [p for _, problems in check_exports.check_others(root, named) for p in problems]
    assert len(found) == 2 and 'Close' in found[0] and 'Gone' in found[1], found


def test_a_new_name_is_of_this_release_and_an_old_one_of_its_own(root):
    named = symbols(root, library(root), 'lib.so libdxcore #MINVER#\n Gone@Base 1.0.0\n Open@Base 1.0.0\n')
    check_exports.write_symbols(root, named)
    with open(f'{root}/debian/libdxcore.symbols', encoding='utf-8') as file:
        assert file.read() == 'lib.so libdxcore #MINVER#\n Close@Base 1.2.3\n Open@Base 1.0.0\n'


def test_what_is_promised_to_nobody_may_change(root):
    tap.write_tree(root, {check_exports.IGNORED: '[suppress_function]\n  symbol_name_regexp = ^Close$\n  drop = yes\n'})
    check_exports.write_baseline(root, library(root))
    changed = library(root, header=HEADER.replace('Close(int)', 'Close(long)'),
                      source=SOURCE.replace('Close(int', 'Close(long'))
    assert problems(root, changed) == []


tap.run_tests(globals())
