#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_layers.py - compares #include lines and names in the code with tools/layers.txt.

usage: check_layers.py [root]

Looks at src/, drivers/, embed/, cli/ and include/. Comments and string literals do not count.
"""

import fnmatch
import os
import re
import sys

import tap
import tree

FOLDERS = ('src', 'drivers', 'embed', 'cli', 'server', 'umd', 'include')
PUBLIC = ('dxg', 'ddk', 'opendxgk')
SYSTEM = 'libc'
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
NAME = re.compile(r'(?<![\w])[A-Za-z_]\w*')


def any_of(patterns):
    """Shell patterns -> one regular expression."""
    return re.compile('|'.join(fnmatch.translate(pattern) for pattern in patterns) or r'(?!)')


class Rules:
    def __init__(self, text):
        self.includes = {}          # folder or file or '*' -> [folder or header]
        self.no_libc = set()
        self.names = []             # (pattern, [folder])
        self.base_headers = set()
        self.base_calls = set()
        base_names = []
        section = None
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split('#', 1)[0].strip()
            if not line:
                continue
            if line.startswith('['):
                section = line.strip('[]')
            elif section == 'includes':
                left, right = self.row(line, number)
                self.includes.setdefault(left, []).extend(right.split())
            elif section == 'names':
                left, right = self.row(line, number)
                self.names.append((any_of(left.split()), right.split()))
            elif section == 'no libc':
                self.no_libc.update(line.split())
            elif section == 'base only':
                for word in line.split():
                    if word.startswith('<'):
                        self.base_headers.add(word.strip('<>'))
                    elif word.endswith('()'):
                        self.base_calls.add(word[:-2])
                    else:
                        base_names.append(word)
            else:
                raise SystemExit(f'layers.txt:{number}: what is section [{section}]?')
        self.base_names = any_of(base_names)

    @staticmethod
    def row(line, number):
        left, colon, right = line.partition(':')
        if not colon:
            raise SystemExit(f'layers.txt:{number}: expected "left : right"')
        return left.strip(), right

    def allowed(self, path, layer):
        words = []
        for key in (layer, path, '*'):
            for word in self.includes.get(key, []):
                words += PUBLIC if word == 'include' else [word]
        return words


def layer_of(path):
    """src/base/lock.c -> base, include/ddk/wdm.h -> ddk, cli/main.c -> cli."""
    parts = path.split('/')
    if parts[0] in ('src', 'include'):
        return parts[1] if len(parts) > 2 else parts[0]
    return parts[0]


def folder_name(layer):
    """The layer the way a reader finds it in the tree."""
    if layer in PUBLIC:
        return 'include/' + layer
    return layer if layer in ('drivers', 'embed', 'cli', 'src', 'include') else 'src/' + layer


class Checker:
    def __init__(self, root, rules):
        self.root = root
        self.rules = rules
        self.layers = {k for k in rules.includes if '/' not in k and k != '*'}
        self.paths = [p for p in tree.project_files(root)
                      if tree.under(p, FOLDERS) and p.endswith(tree.C_FILES)]
        self.known = set(self.paths)
        self.problems = {key: [] for key in ('row', 'include', 'libc', 'names', 'base')}

    def resolve(self, path, quoted, spec):
        """An include -> (layer it belongs to, the way we write it)."""
        if quoted:
            beside = os.path.normpath(os.path.join(os.path.dirname(path), spec))
            if beside in self.known or (spec.startswith('.') and tree.under(beside, FOLDERS)):
                layer = layer_of(beside)
                return layer, f'{layer}/{os.path.basename(beside)}'
        first = spec.split('/', 1)[0]
        if '/' in spec and (first in PUBLIC or first in self.layers):
            return first, spec
        for layer in PUBLIC:              # drivers are built with -I include/ddk -I include/dxg
            if f'include/{layer}/{spec}' in self.known:
                return layer, f'{layer}/{spec}'
        if quoted and '/' not in spec:    # made by the build, in the folder's own name
            return layer_of(path), spec
        return SYSTEM, spec

    def check_includes(self, path, layer, text):
        allowed = self.rules.allowed(path, layer)
        code = tree.without_comments(text, keep_strings=True)
        for match in INCLUDE.finditer(code):
            where = f'{path}:{code.count(chr(10), 0, match.start()) + 1}'
            target, spec = self.resolve(path, match.group(1) == '"', match.group(2))
            if target == SYSTEM:
                if layer in self.rules.no_libc:
                    self.problems['libc'].append(
                        f'{where}: {folder_name(layer)} may not include <{spec}> (no libc here)')
                elif layer not in ('base', 'opendxgk') and spec in self.rules.base_headers:
                    self.problems['base'].append(
                        f'{where}: <{spec}> may be included in src/base only')
            elif target != layer and not {'*', target, spec} & set(allowed):
                self.problems['include'].append(
                    f'{where}: {folder_name(layer)} may not include {spec} '
                    f'(allowed: {" ".join(allowed) or "nothing"})')

    def check_names(self, path, layer, text):
        code = tree.without_comments(text)
        # The file names in #include lines are not names in the code.
        code = INCLUDE.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), code)
        line, last = 1, 0
        for match in NAME.finditer(code):
            line += code.count('\n', last, match.start())
            last = match.start()
            name = match.group(0)
            where = f'{path}:{line}'
            for pattern, layers in self.rules.names:
                if layer not in layers and pattern.fullmatch(name):
                    self.problems['names'].append(
                        f'{where}: {folder_name(layer)} may not say {name} '
                        f'(only: {" ".join(layers)})')
            if layer != 'base' and self.is_base_only(name, code, match):
                self.problems['base'].append(f'{where}: {name} may be used in src/base only')

    def is_base_only(self, name, code, match):
        if self.rules.base_names.fullmatch(name):
            return True
        if name not in self.rules.base_calls:
            return False
        is_call = code[match.end():match.end() + 16].lstrip().startswith('(')
        before = code[max(0, match.start() - 2):match.start()]
        return is_call and not before.endswith(('.', '->'))

    def run(self):
        for path in self.paths:
            layer = layer_of(path)
            text = tree.read(self.root, path)
            if layer not in self.layers:
                self.problems['row'].append(
                    f'{path}:1: {folder_name(layer)} has no row in tools/layers.txt')
                continue
            self.check_includes(path, layer, text)
            if not path.startswith('include/'):
                self.check_names(path, layer, text)
        return [
            ('every folder has a row in the table', self.problems['row']),
            ('folders include only what their row allows', self.problems['include']),
            ('drivers and their headers include no libc header', self.problems['libc']),
            ('Windows names stay at the two borders', self.problems['names']),
            ('threads, time and chance are used in src/base only', self.problems['base']),
        ]


def check(root, rules_text):
    return Checker(root, Rules(rules_text)).run()


if __name__ == '__main__':
    TREE = sys.argv[1] if len(sys.argv) > 1 else tree.ROOT
    sys.exit(tap.report(check(TREE, tree.read(tree.ROOT, 'tools/layers.txt'))))
