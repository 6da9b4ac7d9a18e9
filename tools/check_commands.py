#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_commands.py - what README, CONTRIBUTING, docs/ and man pages tell a reader to type or to look at exists.

usage: check_commands.py [root [builddir]]

Looked at are blocks of commands, words in `backquotes` and *bold* ones of man pages: make targets and
variables, verbs, options and controls of dxgk, options of dxgkd, man pages, files, functions(), programs in build
directories, environment variables, values of the registry. A file behind a function is where it has to be. With a build
directory (that of plain, when run alone) also names of tests and suites. Comments of the code are looked at for files and
functions().
"""

import glob
import json
import os
import re
import shlex
import sys

import tap
import tree
import variants

MARKDOWN = re.compile(r'(README|CONTRIBUTING|docs/[^/]+)\.md$')
MAN = re.compile(r'docs/man/[^/]+\.scd$')
SETTING = re.compile(r'([A-Z][A-Z_]*)=')
PATH = re.compile(r'[\w.+-]+(?:/[\w.*+-]+)+/?|[\w+-]+/')
FUNCTION = re.compile(r'(?<![\w…])([A-Za-z_][\w…]*)\(\)')
PLACED = re.compile(r'`([A-Za-z_]\w*)\(\)` in `([\w/]+\.[ch])`')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.DOTALL)
FILE = re.compile(r'(?<![\w<*/.])(?:\w+/)*\w+\.(?:c|h|def|py|md)\b')
# What comments and pages may name and the project does not have: others' code, and names that only show a shape.
OTHERS = {'abort', 'fork', 'exec', 'select', 'GetCurrentProcess', 'dxgk_test_name',
          'winadapter.h', 'dxgicommon.h', 'stddef.h', 'small_test.c'}
VARIABLE = re.compile(r'\b(?:DXGK|OPENDXGK|MODEL|PARK|TEST)_[A-Z]+(?:_[A-Z]+)*\b')


class Page:
    """The text of one page, and what of it is to be typed: [(line number, text)]."""

    def __init__(self, root, path):
        self.path = path
        self.text = tree.read(root, path)
        self.code = self.code_of_man() if path.endswith('.scd') else self.code_of_markdown()

    def code_of_markdown(self):
        found, fence = [], None
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.startswith('```'):
                fence = None if fence is not None else line[3:].strip()
            elif fence == '' or (fence is None and line.startswith('    ')):
                found.append((number, re.sub(r'^\$ ', '', line.strip())))
            elif fence is None:
                found += [(number, code) for code in re.findall(r'`([^`]+)`', line)]
        return found

    def code_of_man(self):
        found, is_literal, section = [], False, ''
        for number, line in enumerate(self.text.splitlines(), 1):
            plain = re.sub(r'\\(.)', r'\1', line)
            if line.startswith('# '):
                section = line[2:]
            elif line.startswith('```'):
                is_literal = not is_literal
            elif is_literal or re.match(r'\t(clang|opendxgk-c)', plain):
                found.append((number, plain.strip()))
            elif section == 'SYNOPSIS':
                found.append((number, re.sub(r'[*_\[\]|]|\+\+$', ' ', plain)))
            else:
                found += [(number, code) for code in re.findall(r'(?<![\w*])\*([^*]+)\*', plain)]
        return found


class Facts:
    """What there is, read from where it is."""

    def __init__(self, root, builddir=None):
        self.root = root
        self.files = set(tree.project_files(root))
        self.folders = {folder for path in self.files for folder in parents(path)}
        makefile = self.read('Makefile')
        self.targets = set(re.findall(r'^([a-z-]+):', makefile, re.MULTILINE))
        self.make_variables = set(re.findall(r'^([A-Z]+) \?=', makefile, re.MULTILINE))
        self.verbs = dict(re.findall(r'\{ "(\w+)", (cmd_\w+),', self.read('cli/main.c')))
        self.controls = set(re.findall(r'^\t\{ "([a-z-]+)", \d,', self.read('cli/cmd_ctl.c'),
                                       re.MULTILINE))
        self.pages = {os.path.basename(path).rsplit('.', 2)[0] for path in self.files
                      if MAN.match(path)}
        self.words_of_file = self.all_words = None
        self.tests, self.suites = self.read_tests(builddir)

    def read(self, path):
        return tree.read(self.root, path) if path in self.files else ''

    def words(self):
        """Every word of the code, comments aside; and which file has which."""
        if self.words_of_file is None:
            self.words_of_file = {
                path: set(re.findall(r'[A-Za-z_]\w*', tree.without_comments(tree.read(self.root, path))))
                for path in self.files if path.endswith(tree.C_FILES)}
            self.all_words = set().union(*self.words_of_file.values())
        return self.all_words

    def has_function(self, name):
        if '…' in name:
            pattern = re.compile(name.replace('…', r'\w+'))
            return any(pattern.fullmatch(word) for word in self.words())
        return name in self.words() or name in OTHERS

    def has_file(self, path):
        return path in OTHERS or any(path == name or name.endswith('/' + path) for name in self.files)

    def read_tests(self, builddir):
        listed = os.path.join(builddir or '', 'meson-info', 'intro-tests.json')
        if not builddir or not os.path.exists(listed):
            return None, None
        with open(listed, encoding='utf-8') as file:
            tests = json.load(file)
        return ({test['name'] for test in tests},
                {suite.split(':')[-1] for test in tests for suite in test['suite']})

    def options(self, verb):
        """Of a verb, of its headers and of what is behind it in its folder: in tables of options (cli/options.h) and of getopt."""
        text = self.read(f'cli/{self.verbs[verb]}.c')
        text += ''.join(self.read(path) for path in re.findall(r'#include "(cli/[^"]+)"', text) if path in self.files)
        text += ''.join(self.read(path) for path in sorted(self.files)
                        if path.startswith(f'cli/{verb}/') and path.endswith('.c'))
        names = re.findall(r'\{[\s\\]*"([a-z-]+)",\s+(?:\'.\',\s+)?(?:(?:no|required)_argument|\.(?:flag|text|read) =)', text)
        letters = re.findall(r'\{ (?:"[a-z-]+", |\.letter = )\'(.)\'', text)
        return {'--' + name for name in names} | {'-' + letter for letter in letters} | {'--help', '-h'}

    def server_options(self):
        return set(re.findall(r'\{ "([a-z-]+)", (?:no|required)_argument', self.read('server/main.c')))

    def sources(self, *folders):
        return {path: tree.read(self.root, path) for path in self.files
                if tree.under(path, folders) and path.endswith(('.c', '.h', '.in', '.py', '.build'))}

    def is_there(self, path):
        """A file or folder of the project; src/, include/ or the project itself may be left out."""
        for start in ('', 'src/', 'include/', 'docs/'):
            name = (start + path).rstrip('/')
            if name in self.files or name in self.folders:
                return True
            if '*' in name and glob.glob(os.path.join(self.root, name)):
                return True
        return False

    def is_built(self, path):
        """A program in a build directory: a target of that name is described there."""
        folder, _, name = path.partition('/')[2].rpartition('/')
        described = self.read(f'{folder}/meson.build')
        return any(f"'{word}'" in described for word in (name, name.partition('_')[2]))


def parents(path):
    parts = path.split('/')[:-1]
    return ['/'.join(parts[:count]) for count in range(1, len(parts) + 1)]


def words_of(code):
    try:
        return shlex.split(code, comments=True)
    except ValueError:
        return code.split()


def check_make(words, facts):
    for word in words:
        name, is_setting, _ = word.partition('=')
        if is_setting and name not in facts.make_variables:
            yield f'make has no variable {name}'
        elif not is_setting and word not in facts.targets:
            yield f'make has no target {word}'


def check_dxgk(words, facts):
    if not words or words[0] in ('--help', '--version', 'VERB', 'help'):
        return
    verb, *rest = words
    if verb not in facts.verbs:
        yield f'dxgk has no verb {verb}'
        return
    for word in rest:
        if word == '--':
            break
        if re.match(r'--?[a-z]', word) and word.split('=')[0] not in facts.options(verb):
            yield f'dxgk {verb} has no option {word}'
    controls = [word for word in rest if re.fullmatch(r'[a-z][a-z-]*', word)]
    if verb == 'ctl' and controls and controls[0] not in facts.controls:
        yield f'dxgk ctl has no control {controls[0]}'


def check_dxgkd(words, facts):
    for word in words:
        if word.startswith('--') and word[2:].split('=')[0] not in facts.server_options():
            yield f'dxgkd has no option {word}'


def check_meson(words, facts):
    if words[:1] != ['test'] or facts.tests is None:
        return
    rest = iter(words[1:])
    for word in rest:
        if word == '--suite':
            suite = next(rest, '')
            if suite not in facts.suites:
                yield f'there is no suite {suite}'
        elif word in ('-C', '--num-processes', '--timeout-multiplier'):
            next(rest, None)
        elif not word.startswith('-') and word not in facts.tests:
            yield f'there is no test {word}'


def check_man(words, facts):
    for word in words:
        if word.startswith(('dxgk', 'opendxgk')) and word not in facts.pages:
            yield f'there is no page {word}'


CHECKS = {'make': check_make, 'dxgk': check_dxgk, 'dxgkd': check_dxgkd, 'meson': check_meson, 'man': check_man}


def check_command(code, facts):
    words = words_of(code)
    while words and SETTING.match(words[0]):
        words = words[1:]
    if words[:1] == ['python3']:
        words = words[1:]
    if words:
        yield from CHECKS.get(os.path.basename(words[0]), lambda *_: ())(words[1:], facts)


def check_paths(code, facts):
    build_folders = {variant['dir'] for variant in variants.VARIANTS.values()}
    for word in re.findall(r'(?<![\w/.<$}~-])' + PATH.pattern + r'(?![\w/<])', code):
        first = word.split('/')[0]
        if word in (facts.tests or ()):
            continue
        if first in build_folders and not re.search(r'\.(html|json)$', word):
            if '/' in word.rstrip('/') and not facts.is_built(word):
                yield f'{word} is not built'
        elif facts.is_there(first) and not facts.is_there(word):
            yield f'there is no {word}'


def check_links(page, facts):
    for number, line in enumerate(page.text.splitlines(), 1):
        for target in re.findall(r'\]\(([^)#:]+)(?:#[^)]*)?\)', line):
            path = os.path.normpath(os.path.join(os.path.dirname(page.path), target))
            if path not in facts.files:
                yield f'{page.path}:{number}: there is no {path}'


def check_functions(pages, facts):
    for page in pages:
        for number, line in enumerate(page.text.splitlines(), 1):
            for name in FUNCTION.findall(line):
                if not facts.has_function(name):
                    yield f'{page.path}:{number}: there is no {name}()'
            for name in re.findall(r'`struct (\w+)', line):
                if not facts.has_function(name):
                    yield f'{page.path}:{number}: there is no struct {name}'
            for name, path in PLACED.findall(line):
                facts.words()
                if not any(name in words for file, words in facts.words_of_file.items()
                           if file == path or file == 'src/' + path):
                    yield f'{page.path}:{number}: {name}() is not in {path}'


def check_comments(facts):
    for path in sorted(facts.files):
        if not path.endswith(tree.C_FILES):
            continue
        text = tree.read(facts.root, path)
        for comment in COMMENT.finditer(text):
            number = text.count('\n', 0, comment.start()) + 1
            for found in FUNCTION.finditer(comment.group(0)):
                if not facts.has_function(found.group(1)):
                    line = number + comment.group(0).count('\n', 0, found.start())
                    yield f'{path}:{line}: there is no {found.group(0)}'
            for found in FILE.finditer(comment.group(0)):
                if not facts.has_file(found.group(0)):
                    line = number + comment.group(0).count('\n', 0, found.start())
                    yield f'{path}:{line}: there is no {found.group(0)}'


def in_code(pages, find, facts):
    return [f'{page.path}:{number}: {problem}' for page in pages for number, code in page.code
            for problem in find(code, facts)]


def check_variables(pages, facts):
    """What pages name is read by somebody. What headers define is no variable of the environment."""
    defined = set(VARIABLE.findall(' '.join(facts.sources('include').values())))
    code = ' '.join(facts.sources('src', 'embed', 'server', 'cli', 'drivers', 'tests').values())
    read = set(re.findall(r'["\'{$](' + VARIABLE.pattern + ')', code))
    return [f'{page.path}:{number}: nobody reads {name}' for page in pages
            for number, line in enumerate(page.text.splitlines(), 1)
            for name in sorted(set(VARIABLE.findall(line)) - defined - read)]


def check_documented(facts):
    """What the kernel reads, and settings of the software GPU, have their places."""
    page = facts.read('docs/man/opendxgk.7.scd')
    server_page = facts.read('docs/man/dxgkd.8.scd')
    for path, text in sorted(facts.sources('src', 'embed', 'server', 'cli').items()):
        for name in re.findall(r'getenv\("(DXGK_\w+)"\)', text):
            if f'\n*{name}*\n' not in page + (server_page if path.startswith('server/') else ''):
                yield f'{path}: reads {name}, which is not in docs/man/opendxgk.7.scd'
    for option in sorted(facts.server_options() - {'help', 'version'}):
        if f'\n*--{option}*' not in server_page:
            yield f'server/main.c: --{option} is not in docs/man/dxgkd.8.scd'
    for path, page in (('drivers/common/settings.c', 'docs/softgpu.md'),
                       ('src/miniport/tdr_settings.c', 'docs/profile.md')):
        here = registry_values(facts.read(path))
        there = set(re.findall(r'^\| `([A-Z]\w*[a-z]\w*)` \|', facts.read(page), re.MULTILINE))
        yield from (f'{path}: reads {name}, which {page} does not have' for name in sorted(here - there))
        yield from (f'{page}: has {name}, which {path} does not read' for name in sorted(there - here))
    yield from check_members(facts)
    yield from check_verbs(facts)
    yield from check_scripts(facts)
    yield from check_campaigns(facts)
    yield from check_rooms(facts)


def check_members(facts):
    """Members of the profile, both ways."""
    page = facts.read('docs/profile.md')
    code = ' '.join(facts.sources('embed').values())
    for name in re.findall(r'\{ "(\w+)", (?:config_)?read_', code):
        if not re.search(rf'[`"]{name}[`"]', page):
            yield f'embed/: reads the member {name}, which docs/profile.md does not have'
    for name in re.findall(r'^\| `([a-z]\w*)` \|', page, re.MULTILINE):
        if f'"{name}"' not in code:
            yield f'docs/profile.md: has {name}, which embed/ does not read'


def registry_values(text):
    return set(re.findall(r'(?:\{ L|number_\w+\(miniport, (?:\w+, )?)"(\w+)"', text))


def check_verbs(facts):
    """Each verb, option and control is in dxgk(1); a verb may have a page of its own for its options."""
    page = facts.read('docs/man/dxgk.1.scd')
    for verb in facts.verbs:
        lines = ' '.join(re.findall(rf'^\*dxgk {verb}\*.*', page, re.MULTILINE))
        if not lines:
            yield f'cli/main.c: the verb {verb} is not in docs/man/dxgk.1.scd'
        own = f'docs/man/dxgk-{verb}.1.scd'
        name = own if own in facts.files else 'docs/man/dxgk.1.scd'
        for option in sorted(facts.options(verb) - {'--help', '-h'}):
            if option.startswith('--') and not re.search(rf'{option}\b', facts.read(name)):
                yield f'cli/cmd_{verb}.c: {option} is not in {name}'
    for control in sorted(facts.controls):
        if not re.search(rf'^\*{control}\*', page, re.MULTILINE):
            yield f'cli/cmd_ctl.c: the control {control} is not in docs/man/dxgk.1.scd'


def table(facts, path, name):
    """The first words of the rows of a table."""
    found = re.search(rf'\b{name}\[[^\]]*\] = \{{(.*?)\n\}};', facts.read(path), re.DOTALL)
    return re.findall(r'\{ "([^"]+)"', found.group(1)) if found else []


def check_scripts(facts):
    """Statements, their words and settings of scripts are in dxgk-run(5), and no others."""
    name = 'docs/man/dxgk-run.5.scd'
    page = facts.read(name)
    verbs = table(facts, 'cli/run/reader.c', 'verbs')
    for path, words in (('cli/run/reader.c', verbs + table(facts, 'cli/run/reader.c', 'state_words')),
                        ('cli/run/reader_names.c', table(facts, 'cli/run/reader_names.c', 'option_words')),
                        ('cli/run/reader_submit.c', table(facts, 'cli/run/reader_submit.c', 'command_words')),
                        ('cli/run/reader_controls.c', table(facts, 'cli/run/reader_controls.c', 'fuzzes')),
                        ('cli/verifier_options.c', table(facts, 'cli/verifier_options.c', 'verifier_options'))):
        yield from (f'{path}: the word {word} is not in {name}' for word in words if f'*{word}*' not in page)
    for key in table(facts, 'cli/run/reader_submit.c', 'setting_keys'):
        if not re.search(rf'\b{key}\b', page):
            yield f'cli/run/reader_submit.c: the setting {key} is not in {name}'
    start = page.find('\n# STATEMENTS') + 1
    for found in re.finditer(r'\n\n(\*.*)', page[start:page.find('\n# SEE ALSO')] if start else ''):
        for word in re.findall(r'(?:^|, )\*([a-z-]+)\*', found.group(1)):
            if word not in verbs + ['expect', 'try']:
                number = page.count('\n', 0, start + found.start(1)) + 1
                yield f'{name}:{number}: scripts have no statement {word}'


def check_campaigns(facts):
    """Workloads and faults of dxgk verify are in docs/verify.md, and no others."""
    page = facts.read('docs/verify.md')
    here = {*re.findall(r'"(W\d\d)",\s*(?:\.name = )?"([a-z-]+)"', ' '.join(facts.sources('cli').values()))}
    there = {*re.findall(r'^\| (W\d\d) ([a-z-]+) \|', page, re.MULTILINE)}
    yield from (f'cli/verify/: {" ".join(each)} is not in docs/verify.md' for each in sorted(here - there))
    yield from (f'docs/verify.md: there is no {" ".join(each)}' for each in sorted(there - here))
    here = {*re.findall(r'^FAULT\(\w+, "([a-z-]+)"', facts.read('src/verify/plan.def'), re.MULTILINE)}
    there = {*re.findall(r'^\| F\d+ \| `([a-z-]+)', page, re.MULTILINE)}
    yield from (f'src/verify/plan.def: {each} is not in docs/verify.md' for each in sorted(here - there))
    yield from (f'docs/verify.md: there is no fault {each}' for each in sorted(there - here))


def check_rooms(facts):
    """Each folder of the code is in docs/architecture.md."""
    page = facts.read('docs/architecture.md')
    for folder in sorted({path.rpartition('/')[0] for path in facts.files
                          if re.match(r'(src|cli|server|embed|umd|drivers)/.*\.c$', path)}):
        room = folder.split('/')[-1 if folder.startswith('src/') else 0]
        if page and not re.search(rf'(?<![\w-]){room}/', page):
            yield f'docs/architecture.md: does not say what is in {folder}/'


def check(root, builddir=None):
    facts = Facts(root, builddir)
    pages = [Page(root, path) for path in sorted(facts.files)
             if MARKDOWN.match(path) or MAN.match(path)]
    return [
        ('commands have targets, verbs, options, tests and pages that exist',
         in_code(pages, check_command, facts)),
        ('files and programs that are named exist', in_code(pages, check_paths, facts)),
        ('functions that are named exist, and where they are said to be',
         list(check_functions(pages, facts))),
        ('files and functions that comments name exist', list(check_comments(facts))),
        ('links lead somewhere',
         [problem for page in pages for problem in check_links(page, facts)]),
        ('environment variables are read by somebody', check_variables(pages, facts)),
        ('verbs, options, environment and registry are documented', list(check_documented(facts))),
    ]


if __name__ == '__main__':
    sys.exit(tap.report(check(*(sys.argv[1:] or [tree.ROOT, variants.directory('plain')]))))
