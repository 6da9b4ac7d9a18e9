#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""locks_test.py - check_locks.py notices names that do not say what becomes of the lock."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
import check_locks
import tap

RANKS = 'enum lock_rank {\n\tLOCK_RANK_OUTER, /* one */\n\tLOCK_RANK_INNER,\n};\n'
PAGE = '| what | rank | held |\n|---|---|---|\n| one | OUTER | yes |\n| two | INNER | never |\n'
CODE = ('int used[] = { LOCK_RANK_OUTER, LOCK_RANK_INNER };\n'
        'static void look_locked(struct a *a)\n{\n\tlock_assert_held(&a->lock);\n\tlook(a);\n}\n'
        'void wait_relock(struct a *a)\n{\n\tlock_assert_held(&a->lock);\n\tlock_release(&a->lock);\n'
        '\tlock_acquire(&a->lock);\n}\n'
        'void end_unlock(struct a *a)\n{\n\tlock_assert_held(&a->lock);\n\tlock_release(&a->lock);\n}\n')


def problems(root, ranks=RANKS, page=PAGE, code=CODE, more=()):
    tap.write_tree(root, {check_locks.RANKS: ranks, check_locks.PAGE: page, 'src/a/a.c': code, **dict(more)})
    return [p for _, found in check_locks.check(root) for p in found]


def one(root, words, **more):
    found = problems(root, **more)
    assert len(found) == 1 and words in found[0], found


def test_agreement_is_accepted(root):
    assert problems(root) == []


def test_a_release_in_a_locked_function_is_reported(root):
    one(root, 'src/a/a.c:18: drop_locked() drops the lock it is called under: it calls lock_release()',
        code=CODE + 'void drop_locked(struct a *a)\n{\n\tlock_assert_held(&a->lock);\n'
                    '\tlock_release(&a->lock);\n}\n')


def test_a_call_that_drops_it_is_reported(root):
    one(root, 'it calls wait_relock()',
        code=CODE + 'void drop_locked(struct a *a)\n{\n\tlock_assert_held(&a->lock);\n'
                    '\twait_relock(a);\n}\n')


def test_a_second_lock_is_its_own(root):
    assert problems(root, code=CODE + 'void two_locked(struct a *a)\n{\n\tlock_assert_held(&a->a);\n'
                                      '\tlock_acquire(&a->b);\n\tlock_release(&a->b);\n}\n') == []


def test_a_release_behind_a_second_lock_is_reported(root):
    one(root, 'releases &a->a, which it is called under',
        code=CODE + 'void two_locked(struct a *a)\n{\n\tlock_assert_held(&a->a);\n'
                    '\tlock_acquire(&a->b);\n\tlock_release(&a->b);\n\tlock_release(&a->a);\n}\n')


def test_a_header_says_what_is_dropped_and_retaken(root):
    one(root, 'src/a/a.h:3: wait_relock(): nothing says which lock',
        more={'src/a/a.h': 'int a;\n\nvoid wait_relock(struct a *a);\n'})
    assert problems(root, more={'src/a/a.h': '/*\n * Drops and\n * retakes a->lock: it may be gone.\n */\nint a(void);\n'
                                             'void wait_relock(struct a *a);\n'}) == []
    one(root, 'src/a/a.h:2: wait_relock(): nothing says what may have changed',
        more={'src/a/a.h': '/* Drops and retakes a->lock. */\nvoid wait_relock(struct a *a);\n'})


def test_a_static_relock_says_it_too(root):
    one(root, 'do_relock(): nothing says which lock',
        code=CODE + '\nstatic void do_relock(struct a *a)\n{\n\tlock_assert_held(&a->lock);\n\twait_relock(a);\n}\n')


def test_the_page_leads_to_the_lock(root):
    assert problems(root, page=PAGE.replace('one', 'one (`a/a.c`)')) == []
    one(root, 'b/b.c has no lock of rank OUTER', page=PAGE.replace('one', 'one (`b/b.c`)'))
    one(root, 'a/b.c has no lock of rank INNER', page=PAGE.replace('two', 'two (`a/b.c`)'), more={'src/a/b.c': 'LOCK_RANK_OUTER;\n'})


def test_a_relock_that_drops_nothing_is_reported(root):
    one(root, 'keep_relock() drops no lock',
        code=CODE + 'void keep_relock(struct a *a)\n{\n\tlock_assert_held(&a->lock);\n}\n')


def test_a_locked_function_that_does_not_assert_is_reported(root):
    one(root, 'src/a/a.c:18: quiet_locked() does not assert the lock it is called under',
        code=CODE + 'void quiet_locked(struct a *a)\n{\n}\n')


def test_who_calls_what_wants_the_lock_without_having_it_is_reported(root):
    one(root, 'src/a/a.c:18: go() calls look_locked(), and neither takes the lock before nor asserts it',
        code=CODE + 'static void go(struct a *a)\n{\n\tlook_locked(a);\n}\n')
    one(root, 'late() calls look_locked(), and neither takes',
        code=CODE + 'void late(struct a *a)\n{\n\tlook_locked(a);\n\tlock_acquire(&a->lock);\n}\n')
    for name, has in (('go', 'lock_acquire(&a->lock)'), ('go_locked', 'lock_assert_held(&a->lock)'), ('go', 'a_lock(a)')):
        assert problems(root, code=CODE + f'void {name}(struct a *a)\n{{\n\t{has};\n\tlook_locked(a);\n}}\n') == []


def test_what_asserts_a_lock_is_named_so(root):
    one(root, 'src/a/a.c:18: go() is called under a lock, and its name does not say so',
        code=CODE + 'void go(struct a *a)\n{\n\tlock_assert_held(&a->lock);\n}\n')
    assert problems(root, code=CODE + 'void go(struct a *a)\n{\n\tlock_acquire(&a->lock);\n\tlock_assert_held(&a->lock);\n'
                                      '\tlock_release(&a->lock);\n}\n') == []


def test_what_drops_the_lock_asserts_it_too(root):
    one(root, 'quiet_relock() does not assert',
        code=CODE + 'void quiet_relock(struct a *a)\n{\n\tlock_release(&a->l);\n\tlock_acquire(&a->l);\n}\n')
    one(root, 'quiet_unlock() does not assert',
        code=CODE + 'void quiet_unlock(struct a *a)\n{\n\tlook(a);\n\tlock_release(&a->l);\n}\n')


def test_an_unlock_that_is_no_release_of_a_lock_has_nothing_to_assert(root):
    assert problems(root, code=CODE + 'void memory_unlock(struct a *a)\n{\n\tlock_acquire(&a->l);\n'
                                      '\tlock_release(&a->l);\n}\n') == []


def test_headers_and_the_server_are_held_to_it_too(root):
    quiet = 'static inline void quiet_locked(struct a *a)\n{\n}\n'
    one(root, 'src/a/a.h:1: quiet_locked()', more={'src/a/a.h': quiet})
    one(root, 'server/b.c:1: quiet_locked()', more={'src/a/a.h': '', 'server/b.c': quiet})


def test_a_lock_of_another_kind_has_an_assertion_of_its_own(root):
    assert problems(root, code=CODE + 'void own_locked(void)\n{\n\tguard_assert_held();\n}\n') == []


def test_a_rank_that_nothing_has_is_reported(root):
    one(root, 'nothing has the rank INNER', code=CODE.replace(', LOCK_RANK_INNER', ''))


def test_a_rank_that_is_not_on_the_page_is_reported(root):
    one(root, 'INNER of src/base/lock_ranks.h is not in the table',
        page=PAGE.replace('| two | INNER | never |\n', ''))


def test_another_order_on_the_page_is_reported(root):
    one(root, 'OUTER stands behind INNER',
        page='| what | rank | held |\n|---|---|---|\n| two | INNER | never |\n| one | OUTER | yes |\n')


tap.run_tests(globals())
