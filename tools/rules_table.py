#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rules_table.py - docs/rules.md as a table for the command line.

usage: rules_table.py docs/rules.md out.inc

Writes { "ID", "level", "rule", "source", reason } lines in the order of the page, for struct
verify_rule of cli/verify/rules.h. `reason` is NULL, or why nobody checks the rule.
"""

import re
import sys

import check_rules


def plain(text):
    """Without what only markdown needs; `source:` is the name of the column."""
    text = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', text.replace('`', '')).replace('\\|', '|')
    return re.sub(r'^source:\s*', '', text).strip()


def literal(text):
    escaped = text.replace('\\', '\\\\').replace('"', '\\"').replace('??', '?\\?')
    return f'"{escaped}"'


def table(text):
    for row in check_rules.table_rows(text):
        reason = 'NULL' if row.reason is None else literal(plain(row.reason))
        yield (f'\t{{ {literal(row.id)}, {literal(row.level)},\n\t  {literal(plain(row.sentence))},\n'
               f'\t  {literal(plain(row.source))}, {reason} }},\n')


def main(arguments):
    page, out = arguments
    with open(page, encoding='utf-8') as file:
        lines = list(table(file.read()))
    if not lines:
        sys.exit(f'{page}: no rule found')
    with open(out, 'w', encoding='utf-8') as file:
        file.writelines(lines)


if __name__ == '__main__':
    main(sys.argv[1:])
