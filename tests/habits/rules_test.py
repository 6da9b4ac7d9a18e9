#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rules_test.py - check_rules.py notices when list, page and code part ways."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_rules
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


tap.run_tests(globals())
