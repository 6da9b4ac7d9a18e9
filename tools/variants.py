#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""variants.py - the build directories: what each is for, and how it is configured.

usage: variants.py name [-Doption=value ...]

Configures the directory of one variant where that is still to do, and changes only options that
differ.
"""

import json
import os
import subprocess
import sys

import tree

# Both sanitizer variants are clang's: drivers are compiled by clang whatever the rest is built with,
# and program and driver must bring the same runtime. b_lundef=false because clang keeps that
# runtime in the program only.
CLANG = {'CC': 'clang', 'CXX': 'clang++', 'CC_LD': 'lld', 'CXX_LD': 'lld'}
GCC = {'CC': 'gcc', 'CXX': 'g++'}

# Written by dpkg whenever something is installed or removed.
PACKAGES = '/var/lib/dpkg/status'

VARIANTS = {
    'plain':   {'dir': 'build', 'env': GCC, 'options': {}},
    'asan':    {'dir': 'build-asan', 'env': CLANG,
                'options': {'b_sanitize': 'address,undefined', 'b_lundef': 'false',
                            'fuzz': 'true'}},
    'tsan':    {'dir': 'build-tsan', 'env': CLANG,
                'options': {'b_sanitize': 'thread', 'b_lundef': 'false'}},
    # For its warnings only, which do not depend on how much it optimizes.
    'clang':   {'dir': 'build-clang', 'env': CLANG,
                'options': {'buildtype': 'release', 'b_ndebug': 'true', 'optimization': '0'}},
    # Not optimized, so that a branch is one of the source; an assertion is none that a test takes.
    'coverage': {'dir': 'build-coverage', 'env': GCC,
                 'options': {'b_coverage': 'true', 'b_ndebug': 'true', 'optimization': '0'}},
    'release': {'dir': 'build-release', 'env': GCC,
                'options': {'buildtype': 'release', 'b_ndebug': 'true', 'b_lto': 'true',
                            'tests': 'false'}},
}


def directory(name):
    return os.path.join(tree.ROOT, VARIANTS[name]['dir'])


def run(command, **more):
    """Runs; shows what it printed when it fails. True when it worked."""
    done = subprocess.run(command, cwd=tree.ROOT, check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        print(done.stdout, end='', flush=True)
    return done.returncode == 0


def current_options(path):
    options = subprocess.run(['meson', 'introspect', path, '--buildoptions'], check=True,
                             capture_output=True, text=True).stdout
    def text(value):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return {option['name']: text(option['value']) for option in json.loads(options)}


def is_outdated(path):
    """Packages came or went since Meson looked what there is."""
    try:
        return os.path.getmtime(PACKAGES) > os.path.getmtime(os.path.join(path, 'build.ninja'))
    except FileNotFoundError:
        return False


def configure(name, options=()):
    """True when the variant's directory is ready for ninja."""
    variant = VARIANTS[name]
    path = directory(name)
    is_new = not os.path.exists(os.path.join(path, 'build.ninja'))
    wanted = {**variant['options'], **dict(options)}
    arguments = [f'-D{key}={value}' for key, value in wanted.items()]
    if is_new:
        return run(['meson', 'setup', path, *arguments], env={**os.environ, **variant['env']})
    now = current_options(path)
    changed = [f'-D{key}={value}' for key, value in wanted.items() if now.get(key) != value]
    if changed and not run(['meson', 'configure', path, *changed]):
        return False
    return not is_outdated(path) or run(['meson', 'setup', '--reconfigure', path])


def main(arguments):
    names = [a for a in arguments if not a.startswith('-')]
    options = [a[2:].split('=', 1) for a in arguments if a.startswith('-D')]
    if len(names) != 1 or names[0] not in VARIANTS:
        raise SystemExit(f'variants.py: expected one of: {" ".join(VARIANTS)}')
    return 0 if configure(names[0], dict(options)) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
