#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rules_test.py - check_rules.py notices when list, page and code part ways."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_rules
import rules_table
import tap

LIST = '#define RULE(name, id) x\nRULE(API_A, "API-A")\nRULE(MM_B_2, "MM-B-2")\n'
PAGE = ('# Rules\n\n## API-A\nNo.\n\nsource: the page of D3DKMTEscape\n\n'
        '| rule | meaning | source |\n|---|---|---|\n| `MM-B-2` | full | memory page |\n')
CODE = 'int a = RULE_API_A;\nint b = RULE_MM_B_2;\n'


def problems(root, rules=LIST, page=PAGE, code=CODE):
    tap.write_tree(root, {'src/base/rules.def': rules, 'docs/rules.md': page, 'embed/a.c': code})
    return [p for _, found in check_rules.check(root) for p in found]


def one(root, words, **more):
    found = problems(root, **more)
    assert len(found) == 1 and words in found[0], found


def test_agreement_is_accepted(root):
    assert problems(root) == []


def test_an_undocumented_rule_is_reported(root):
    one(root, 'src/base/rules.def:4: API-C is not in docs/rules.md',
        rules=LIST + 'RULE(API_C, "API-C")\n', code=CODE + 'RULE_API_C')


def test_a_rule_that_is_only_mentioned_is_not_documented(root):
    one(root, 'API-C is not in', rules=LIST + 'RULE(API_C, "API-C")\n', code=CODE + 'RULE_API_C',
        page=PAGE + '\nSee also API-C, source: nowhere.\n')


def test_a_documented_rule_that_does_not_exist_is_reported(root):
    one(root, 'docs/rules.md:12: API-GONE is not in', page=PAGE + '\n### API-GONE\nsource: x\n')


def test_a_rule_without_a_source_is_reported(root):
    one(root, 'API-A does not say', page=PAGE.replace('source: the page', 'the page'))


def test_a_row_with_an_empty_source_is_reported(root):
    one(root, 'MM-B-2 does not say', page=PAGE.replace('memory page', ''))


def test_the_source_of_the_next_rule_does_not_count(root):
    one(root, 'API-C does not say', rules=LIST + 'RULE(API_C, "API-C")\n',
        code=CODE + 'RULE_API_C', page=PAGE.replace('## API-A', '## API-C\n## API-A'))


def test_an_unused_rule_is_reported(root):
    one(root, 'RULE_MM_B_2 is used nowhere', code='int a = RULE_API_A; /* RULE_MM_B_2 */\n')


def test_an_id_spelled_unlike_its_name_is_reported(root):
    found = problems(root, rules=LIST.replace('"API-A"', '"API-AA"'))
    assert 'API_A should have the id "API-A"' in found[0], found


def test_a_doubled_rule_is_reported(root):
    one(root, 'twice', rules=LIST + 'RULE(API_A, "API-A")\n')


def test_a_rule_in_a_comment_is_not_a_rule(root):
    assert problems(root, rules=LIST + '/* RULE(API_C, "API-C") */\n') == []


def test_an_empty_list_is_reported(root):
    one(root, 'no RULE', rules='\n', page='# Rules\n', code='')


LEVELS = PAGE + ('\n## DDI\n\n| id | level | rule | source: |\n|---|---|---|---|\n'
                 '| DDI-C | warning | No "x" in `y`. | source: a page |\n')
LIST_C, CODE_C = LIST + 'RULE(DDI_C, "DDI-C")\n', CODE + 'RULE_DDI_C'


def test_a_level_is_read_and_an_unknown_one_is_reported(root):
    assert problems(root, rules=LIST_C, code=CODE_C, page=LEVELS) == []
    one(root, 'DDI-C has the level "grave"', rules=LIST_C, code=CODE_C,
        page=LEVELS.replace('warning', 'grave'))


def test_a_row_without_a_level_is_an_error_also_in_a_table_with_levels(root):
    page = LEVELS.replace('| warning ', '')
    assert problems(root, rules=LIST_C, code=CODE_C, page=page) == []
    row = check_rules.table_rows(page)[-1]
    assert (row.level, row.sentence, row.source) == ('error', 'No "x" in `y`.', 'source: a page')


UNCHECKED = PAGE + ('\n| id | level | rule | source: | why not |\n|---|---|---|---|---|\n'
                    '| DDI-U | note | A. | a page | nobody can see it |\n')


def test_what_is_not_checked_has_a_reason_and_is_not_in_the_list(root):
    assert problems(root, page=UNCHECKED) == []
    one(root, 'DDI-U does not say why not', page=UNCHECKED.replace('nobody can see it', ''))
    one(root, 'DDI-U is in', page=UNCHECKED + '\n## DDI-U\nsource: x\n',
        rules=LIST + 'RULE(DDI_U, "DDI-U")\n', code=CODE + 'RULE_DDI_U')
    rows = ''.join(f'| DDI-U-{i} | note | A. | a page | dark |\n' for i in range(10))
    one(root, 'DDI-U-9 is one too many', page=UNCHECKED + rows)


def test_the_table_of_the_command_line_has_what_the_page_has(root):
    assert list(rules_table.table(LEVELS))[-1] == (
        '\t{ "DDI-C", "warning",\n\t  "No \\"x\\" in y.",\n\t  "a page", NULL },\n')
    assert '"A.",\n\t  "a page", "nobody can see it" }' in list(rules_table.table(UNCHECKED))[-1]


tap.run_tests(globals())
