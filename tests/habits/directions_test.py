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


ROWS = {
    'a silent member is noticed': ('One;       /* in */', 'One;', ':2: _DXGKARG_A.One says neither in nor out'),
    'a comment is no direction': ('/* in/out; WDDM 2.0 */', '/* WDDM 2.0 */', '_DXGKARG_A.pTwo'),
    'members of inner structures count': ('Three; /* out */', 'Three;', '_DXGKARG_A.Three'),
    'a word beside bits counts': ('		UINT Value;\n	};', '		UINT Value;\n	};\n	UINT Node; /* in */', '_DXGK_FLAGS.Value'),
    'an entry point without level is noticed': ('/* PASSIVE_LEVEL, level 0 */', '', 'at which level'),
}
tap.rows(globals(), one, ROWS)


def test_the_list_of_exceptions_has_nothing_that_is_gone(root):
    tap.write_tree(root, {header: GOOD for header in check_directions.HEADERS})
    assert [p for _, found in check_directions.check(root, ['_DXGK_GONE']) for p in found] == ['_DXGK_GONE is in none of the headers']


tap.run_tests(globals())
