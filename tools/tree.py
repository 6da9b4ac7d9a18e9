# SPDX-License-Identifier: MIT
"""tree.py - which files belong to the project, and their text the way a check wants to see it."""

import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
C_FILES = ('.c', '.h', '.cpp', '.hpp', '.def', '.inc')

# Comments, string literals and character literals: what is not code. A // comment may run on
# behind a backslash at the end of the line.
_NOT_CODE = re.compile(
    r'//(?:\\\n|[^\n])*'
    r'|/\*.*?(?:\*/|\Z)'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def project_files(root=ROOT):
    """Paths, relative to root and sorted: what git tracks or would track, as far as it exists.
    Where git does not answer (a release archive): everything but hidden and build folders."""
    if os.path.exists(os.path.join(root, '.git')) and shutil.which('git'):
        git = subprocess.run(
            ['git', '-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
            capture_output=True, text=True, check=False)
        if git.returncode == 0:
            return sorted({name for name in git.stdout.split('\0')
                           if name and os.path.isfile(os.path.join(root, name))})

    found = []
    for folder, folders, names in os.walk(root):
        top = os.path.relpath(folder, root) == '.'
        folders[:] = [f for f in folders if not f.startswith('.') and f != '__pycache__'
                      and not (top and f.startswith('build'))]
        found += [os.path.relpath(os.path.join(folder, n), root) for n in names]
    return sorted(found)


def under(path, folders):
    return path.split('/', 1)[0] in folders


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8', errors='replace') as file:
        return file.read()


def without_comments(text, keep_strings=False):
    """Same lines and columns; comments (and the inside of literals) become spaces."""
    def blank(match):
        token = match.group(0)
        if token[0] == '/':
            return re.sub(r'[^\n]', ' ', token)
        return token if keep_strings else token[0] + ' ' * (len(token) - 2) + token[-1]
    return _NOT_CODE.sub(blank, text)
