#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_rules.py - rule ids: the list, the documentation and the code agree.

usage: check_rules.py [root]

src/base/rules.def lists them, docs/rules.md documents them, src/ and embed/ use them:

    RULE(API_NULL_ARGUMENT, "API-NULL-ARGUMENT")         used as RULE_API_NULL_ARGUMENT

An id is documented by a heading that begins with it, or a table row whose first cell is it. Its
section or row says where the rule comes from: `source: ...`, or a table column named source.
Rules for drivers (DDI, NT) have a level: error, warning or note. A table with a column `why not`
has rules that nobody checks, with the reason: at most ten, and none of them is in the list.
"""

import os
import re
import sys

import tap
import tree

RULES = 'src/base/rules.def'
PAGE = 'docs/rules.md'
FOLDERS = ('src', 'embed', 'cli', 'server', 'umd')
LEVELS = ('error', 'warning', 'note')
MOST_UNCHECKED = 10
ID = r'[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+'
ENTRY = re.compile(r'\bRULE\s*\(\s*(\w+)\s*,\s*"([^"]*)"')
HEADING = re.compile(rf'(#+)\s+`?({ID})`?(?![\w-])')
ANY_HEADING = re.compile(r'(#+)\s')
SOURCE = re.compile(r'\bsources?\b\W*:\W*\w', re.IGNORECASE)


def defined_rules(text):
    """-> [(line, NAME, id)]"""
    code = tree.without_comments(text, keep_strings=True)
    return [(code.count('\n', 0, m.start()) + 1, m.group(1), m.group(2))
            for m in ENTRY.finditer(code) if not re.match(r'.*#\s*define', line_of(code, m.start()))]


def line_of(text, position):
    return text[text.rfind('\n', 0, position) + 1:position]


def cells(row):
    return [cell.strip().strip('`*') for cell in row.strip().strip('|').split('|')]


class Row:
    """What a row of a table says about a rule."""

    def __init__(self, line, columns, row):
        # A row without a level may stand in a table that has them: then it is an error's.
        if 'level' in columns and len(row) == len(columns) - 1 and row[1] not in LEVELS:
            columns = [column for column in columns if column != 'level']
        values = dict(zip(columns, row))
        self.line, self.id = line, row[0]
        self.level = values.get('level', 'error')
        self.sentence = values.get('rule', '')
        self.source = next((cell for column, cell in values.items()
                            if column.startswith('source')), '')
        self.reason = values.get('why not')


def table_rows(text):
    """-> [Row]"""
    found = []
    columns = []
    for index, line in enumerate(text.splitlines()):
        if not line.lstrip().startswith('|'):
            columns = []
            continue
        row = cells(line)
        if not columns:
            columns = [cell.lower() for cell in row]
        elif re.fullmatch(ID, row[0]):
            found.append(Row(index + 1, columns, row))
    return found


def documented_rules(text):
    """-> [(line, id, names a source)]"""
    found = []
    lines = text.splitlines()
    for index, line in enumerate(lines):
        heading = HEADING.match(line)
        if heading:
            body = []
            for later in lines[index + 1:]:
                if ANY_HEADING.match(later):
                    break
                body.append(later)
            found.append((index + 1, heading.group(2), bool(SOURCE.search('\n'.join(body)))))
    found += [(row.line, row.id, bool(row.source) or bool(SOURCE.search(lines[row.line - 1])))
              for row in table_rows(text) if row.reason is None]
    return sorted(found)


def used_names(root):
    names = set()
    for path in tree.project_files(root):
        if tree.under(path, FOLDERS) and path.endswith(tree.C_FILES) and path != RULES:
            names.update(re.findall(r'\bRULE_(\w+)', tree.without_comments(tree.read(root, path))))
    return names


def check(root):
    rules = defined_rules(tree.read(root, RULES))
    text = tree.read(root, PAGE) if os.path.exists(os.path.join(root, PAGE)) else ''
    page = documented_rules(text)
    rows = table_rows(text)
    unchecked = [row for row in rows if row.reason is not None]
    ids = [rule_id for _, _, rule_id in rules]
    page_ids = [rule_id for _, rule_id, _ in page]
    used = used_names(root)
    return [
        ('the list has rules, each id once, spelled like its name',
         ([] if rules else [f'{RULES}:1: no RULE(...) found'])
         + [f'{RULES}:{line}: {name} should have the id "{name.replace("_", "-")}", not "{rule_id}"'
            for line, name, rule_id in rules if rule_id != name.replace('_', '-')]
         + [f'{RULES}:{line}: {rule_id} is there twice'
            for index, (line, _, rule_id) in enumerate(rules) if rule_id in ids[:index]]),
        ('every rule is documented',
         [f'{RULES}:{line}: {rule_id} is not in {PAGE}'
          for line, _, rule_id in rules if rule_id not in page_ids]),
        ('every documented rule exists, once',
         [f'{PAGE}:{line}: {rule_id} is not in {RULES}'
          for line, rule_id, _ in page if rule_id not in ids]
         + [f'{PAGE}:{line}: {rule_id} is documented twice'
            for index, (line, rule_id, _) in enumerate(page) if rule_id in page_ids[:index]]),
        ('every documented rule names its source',
         [f'{PAGE}:{line}: {rule_id} does not say `source: ...`'
          for line, rule_id, has_source in page if not has_source]),
        ('every rule has a level that there is',
         [f'{PAGE}:{row.line}: {row.id} has the level "{row.level}", which is none of {", ".join(LEVELS)}'
          for row in rows if row.level not in LEVELS]),
        (f'at most {MOST_UNCHECKED} rules are not checked, each with a reason',
         [f'{PAGE}:{row.line}: {row.id} does not say why not' for row in unchecked if not row.reason]
         + [f'{PAGE}:{row.line}: {row.id} is in {RULES}, so it is checked'
            for row in unchecked if row.id in ids]
         + [f'{PAGE}:{row.line}: {row.id} is one too many' for row in unchecked[MOST_UNCHECKED:]]),
        ('every rule is used',
         [f'{RULES}:{line}: RULE_{name} is used nowhere in {" or ".join(FOLDERS)}'
          for line, name, _ in rules if name not in used]),
    ]


def main(arguments):
    root = arguments[0] if arguments else tree.ROOT
    if not os.path.exists(os.path.join(root, RULES)):
        return tap.report([], skip=f'no {RULES} in this tree')
    return tap.report(check(root))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
