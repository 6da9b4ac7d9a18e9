#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""million_test.py - a million events: the page is small, opens, and answers as the command does. `make bench` measures how fast.

usage: million_test.py path-of-dxgk path-of-examples path-of-tools
"""

import json
import os
import subprocess
import sys

import browser

DXGK = os.path.abspath(sys.argv[1])
sys.path.insert(0, sys.argv[3])
import tap  # noqa: E402

FRAMES = 1450  # somewhat more than a million events
EVENTS = 1_000_000
PAGE_BYTES = 8_000_000
QUERIES = ('why-evicted', 'longest-wait', 'thrash', 'paging-holders', 'critical-path')


def run(*words):
    kept = {name: value for name, value in os.environ.items() if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    done = subprocess.run([DXGK, *words], env=kept, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done
    return done.stdout


def test_a_million_events_are_a_page_of_eight_megabytes_at_most(root):
    trace, page = os.path.join(root, 'tour.trace'), os.path.join(root, 'view.html')
    run('tour', '--frames', str(FRAMES), '--quiet', '--trace', trace)
    run('view', trace, '-o', page)
    assert os.path.getsize(page) <= PAGE_BYTES, os.path.getsize(page)
    if not browser.program():
        raise tap.Skip('Chromium (package chromium) is not installed')
    with browser.Browser(patience=600) as shown:
        shown.open(f'file://{page}')
        shown.until('window.page !== undefined && page.frames > 0')
        assert shown.evaluate('page.model.header.events') >= EVENTS
        for query in QUERIES:
            answer = json.loads(run('view', trace, '--query', query, '--json'))
            rows = shown.evaluate(f'questions["{query}"].answer(page.model, {{}}).rows.map((row) => row.map((cell) => String(cell?.text ?? cell ?? "")))')
            assert rows == answer['rows'], query
        # A lane costs as many boxes as it has pixels, however far one zooms out.
        width, most = shown.evaluate("""(() => {
            let fills = 0, most = 0;
            const fill = page.brush.fill;
            page.brush.fill = function (...about) { fills++; fill.apply(this, about); };
            for (const span of [1, 0.1, 0.01]) {
                page.view.show(page.model.length * 0.4, page.model.length * (0.4 + span));
                for (const lane of page.lanes) {
                    fills = 0;
                    if (!lane.isHead)
                        lane.draw(page.brush, page.view, 0);
                    most = Math.max(most, fills / (lane.model.ownerCount + 8));
                }
            }
            page.brush.fill = fill;
            return [page.view.width, most];
        })()""")
        assert most <= 2 * width, (most, width)
        assert shown.errors == [], shown.errors


if __name__ == '__main__':
    tap.run_tests(globals())
