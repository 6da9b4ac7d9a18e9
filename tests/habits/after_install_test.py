#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""after_install_test.py - after_install.py makes libraries known to the loader, or says what to set."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import after_install
import tap


def ldconfig(root, *folders):
    """One that knows these folders, and writes down when it is called for good."""
    lines = '\n'.join(f'echo "{folder}: (from somewhere)"' for folder in folders)
    tap.write_tree(root, {'ldconfig': f'#!/bin/sh\nif [ $# -eq 0 ]; then touch {root}/updated; fi\n'
                          f'{lines}\nexit 0\n'})
    os.chmod(f'{root}/ldconfig', 0o755)
    return f'{root}/ldconfig'


def test_a_folder_of_the_loader_is_brought_up_to_date(root):
    tool = ldconfig(root, f'{root}/usr/lib')
    assert after_install.after(f'{root}/usr', 'lib', tool, True) == []
    assert os.path.exists(f'{root}/updated')


def test_who_is_not_root_is_told_to(root):
    tool = ldconfig(root, f'{root}/usr/lib')
    assert '  sudo ldconfig' in after_install.after(f'{root}/usr', 'lib', tool, False)
    assert not os.path.exists(f'{root}/updated')


def test_another_prefix_is_told_what_to_set(root):
    tool = ldconfig(root, '/usr/lib')
    for finder in (tool, None):
        said = '\n'.join(after_install.after(f'{root}/x', 'lib/a', finder, True))
        for line in (f'PATH={root}/x/bin:$PATH', f'LD_LIBRARY_PATH={root}/x/lib/a',
                     f'PKG_CONFIG_PATH={root}/x/lib/a/pkgconfig', f'MANPATH={root}/x/share/man:'):
            assert f'  export {line}' in said, (line, said)
    assert not os.path.exists(f'{root}/updated')


tap.run_tests(globals())
