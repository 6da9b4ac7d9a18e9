#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""directions_test.py - check_directions.py notices members that do not say who writes them."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_directions
import tap

GOOD = '''typedef struct _DXGKARG_A {
	UINT One;       /* in */
	VOID *pTwo[2];  /* in/out; WDDM 2.0 */
	struct {
		UINT Three; /* out */
	} Inner;        /* out */
} DXGKARG_A;
typedef struct _DXGK_CAPS { /* out */
	UINT Four;
	UINT Five : 1;
} DXGK_CAPS;
typedef struct _DXGK_FLAGS {
	union {
		struct {
			UINT Six : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_FLAGS;
typedef struct _DXGK_B_INTERFACE {
	PDXGKDDI_C pfnSeven;
} DXGK_B_INTERFACE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_C(IN_CONST_HANDLE hAdapter);
'''


def problems(root, text):
    tap.write_tree(root, {check_directions.HEADERS[0]: GOOD, check_directions.HEADERS[1]: text})
    return [problem for _, found in check_directions.check(root, ()) for problem in found]


def one(root, old, new, words):
    assert GOOD.count(old) == 1, old
    found = problems(root, GOOD.replace(old, new))
    assert len(found) == 1 and words in found[0], found


def test_what_says_it_is_fine(root):
    assert problems(root, GOOD) == []


def test_a_silent_member_is_noticed(root):
    one(root, 'One;       /* in */', 'One;', ':2: _DXGKARG_A.One says neither in nor out')


def test_a_comment_is_no_direction(root):
    one(root, '/* in/out; WDDM 2.0 */', '/* WDDM 2.0 */', '_DXGKARG_A.pTwo')


def test_members_of_inner_structures_count(root):
    one(root, 'Three; /* out */', 'Three;', '_DXGKARG_A.Three')


def test_a_word_beside_bits_counts(root):
    one(root, '		UINT Value;\n	};', '		UINT Value;\n	};\n	UINT Node; /* in */', '_DXGK_FLAGS.Value')


def test_an_entry_point_without_level_is_noticed(root):
    one(root, '/* PASSIVE_LEVEL, level 0 */', '', 'at which level')


def test_the_list_of_exceptions_has_nothing_that_is_gone(root):
    tap.write_tree(root, {header: GOOD for header in check_directions.HEADERS})
    assert [p for _, found in check_directions.check(root, ['_DXGK_GONE']) for p in found] == ['_DXGK_GONE is in none of the headers']


tap.run_tests(globals())
