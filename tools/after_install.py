#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""after_install.py - what is still to do before programs find what was installed, done or said.

usage: after_install.py        after `make install`, which calls it

Where the loader looks in that folder, its cache is brought up to date (by root; others are told the
command). Another prefix needs a few variables, which are printed to be copied.
"""

import os
import shutil
import subprocess

import variants


def loader_folders(ldconfig):
    """The folders that the loader's cache is made of."""
    listed = subprocess.run([ldconfig, '-N', '-v'], capture_output=True, text=True, check=False)
    return {os.path.realpath(line.split(':')[0]) for line in listed.stdout.splitlines()
            if line.startswith('/')}


def find_ldconfig():
    return shutil.which('ldconfig', path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')


def exports(prefix, libdir):
    return [f'export PATH={prefix}/bin:$PATH',
            f'export LD_LIBRARY_PATH={libdir}',
            f'export PKG_CONFIG_PATH={libdir}/pkgconfig',
            f'export MANPATH={prefix}/share/man:']


def after(prefix, libdir, ldconfig, is_root):
    """-> the lines to print"""
    libdir = os.path.join(prefix, libdir)
    if ldconfig and os.path.realpath(libdir) in loader_folders(ldconfig):
        if is_root:
            subprocess.run([ldconfig], check=True, stdout=subprocess.DEVNULL)
            return []
        return ['The loader has to hear of the libraries:', '  sudo ldconfig']
    return [f'To use what is in {prefix}:', *(f'  {line}' for line in exports(prefix, libdir))]


if __name__ == '__main__':
    options = variants.current_options(variants.directory('release'))
    for text in after(options['prefix'], options['libdir'], find_ldconfig(), os.geteuid() == 0):
        print(text)
