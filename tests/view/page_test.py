#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py - the page of dxgk view in a real browser, beside what dxgk view --query and dxgk why say.

usage: page_test.py path-of-dxgk path-of-examples path-of-tools
"""

import json
import os
import subprocess
import sys

import browser
import page_data

DXGK, EXAMPLES = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, sys.argv[3])
import tap  # noqa: E402

QUERIES = ('why-evicted', 'longest-wait', 'thrash', 'paging-holders', 'critical-path')
TEXTS = 'questions["%s"].answer(page.model, {}).rows.map((row) => row.map((cell) => String(cell?.text ?? cell ?? "")))'
SETTLED = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))'


def run(*words, status=0, **settings):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    done = subprocess.run([DXGK, *words], env={**kept, **settings}, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == status, done
    return done


def tour(root):
    trace = os.path.join(root, 'tour.trace')
    run('tour', '--frames', '30', '--seed', '7', '--quiet', '--trace', trace)
    return trace


def needs_a_browser():
    if not browser.program():
        raise tap.Skip('Chromium (package chromium) is not installed')


def shown(root, trace, **more):
    page = os.path.join(root, 'view.html')
    run('view', trace, '-o', page)
    made = browser.Browser(**more)
    made.open(f'file://{page}')
    made.until('window.page !== undefined && page.frames > 0')
    return made


def test_a_query_answers_the_same_each_time_and_as_json(root):
    trace = tour(root)
    for query in QUERIES:
        text = run('view', trace, '--query', query).stdout
        assert text == run('view', trace, '--query', query).stdout
        answer = json.loads(run('view', trace, '--query', query, '--json').stdout)
        assert answer['query'] == query and all(len(row) == len(answer['columns']) for row in answer['rows'])
        assert len(text.splitlines()) == 1 + len(answer['rows'])
    evicted = json.loads(run('view', trace, '--query', 'why-evicted', '--json').stdout)
    assert evicted['rows'] and all(row[evicted['columns'].index('because')] for row in evicted['rows'])


def test_every_command_that_runs_something_makes_the_same_page(root):
    script = os.path.join(EXAMPLES, 'oversubscription.dxgk')
    trace, page = os.path.join(root, 'run.trace'), os.path.join(root, 'view.html')
    run('run', '--quiet', script, DXGK_SEED='1', DXGK_TRACE=trace)
    run('view', trace, '-o', page)
    wanted = page_data.read(page)[1]
    kept = sorted(os.listdir(root))
    for words in (('run', '--html', page, '--quiet', '--seed', '1', script), ('run', '--quiet', f'--html={page}', '--seed=1', script),
                  ('trace', '--quiet', '--html', page, '--', DXGK, 'run', '--quiet', '--seed', '1', script)):
        os.unlink(page)
        done = run(*words)
        assert done.stderr == '', done
        assert page_data.read(page)[1] == wanted, words
        assert sorted(os.listdir(root)) == kept, (words, os.listdir(root))
    done = run('run', '--html', page, '--seed', '1', script)
    assert f'{page}: {page_data.read(page)[0]["events"]} events' in done.stderr, done
    run('run', '--quiet', '--html', page, script, DXGK_SEED='1', DXGK_TRACE=os.path.join(root, 'kept.json'))
    with open(os.path.join(root, 'kept.json'), encoding='utf-8') as file:
        assert json.load(file)['traceEvents']


def test_where_no_page_can_be_nothing_runs_and_nothing_is_left(root):
    script = os.path.join(EXAMPLES, 'first_fill.dxgk')
    nowhere = os.path.join(root, 'no', 'view.html')
    for words in (('run', '--html', nowhere, script), ('trace', '--html', nowhere, '--', DXGK, 'run', script), ('tour', '--html', nowhere)):
        assert 'No such file' in run(*words, status=2).stderr, words
    page = os.path.join(root, 'view.html')
    assert 'never used' in run('trace', '--html', page, '--', 'true', status=126).stderr
    assert os.listdir(root) == []
    run('trace', '--html', page, '--convert', page, status=2)
    run('run', '--html', page, '--check', script)
    assert os.listdir(root) == []


def test_why_tells_the_life_of_an_evicted_allocation(root):
    trace = tour(root)
    evicted = json.loads(run('view', trace, '--query', 'why-evicted', '--json').stdout)
    row = next(row for row in evicted['rows'] if row[evicted['columns'].index('for')])
    victim, winner = (row[evicted['columns'].index(name)] for name in ('allocation', 'for'))
    life = run('why', victim.split()[1], trace).stdout
    assert life.startswith(victim) and 'It is created.' in life and winner in life, life
    assert 'no allocation' in run('why', '0x7', trace, status=1).stderr
    run('why', trace, status=2)


def test_damaged_and_foreign_files_get_a_sentence(root):
    trace = tour(root)
    with open(trace, 'rb') as file:
        data = bytearray(file.read())
    damaged = os.path.join(root, 'damaged')
    for name, content in (('cut', data[:len(data) // 2]), ('changed', data[:-9000] + bytes(64) + data[-8936:])):
        with open(damaged, 'wb') as file:
            file.write(content)
        said = run('view', damaged, '--query', 'thrash').stderr
        assert 'damaged' in said or 'no end' in said or 'missing' in said, (name, said)
    for content in (b'', b'DXGKTRC', b'{"traceEvents":[]}', bytes(4096)):
        with open(damaged, 'wb') as file:
            file.write(content)
        assert run('view', damaged, status=1).stderr.startswith('dxgk view: ')
    for words in ((), (trace, 'more'), (trace, '--json'), (trace, '--query', 'x'), (trace, '--query', 'thrash', '--within', '-1'),
                  (trace, '--query', 'thrash', '-o', 'x'), (trace, '--query', 'why-evicted', '--allocation', '1')):
        run('view', *words, status=2)


def test_every_example_script_has_a_page(root):
    needs_a_browser()
    for name in sorted(os.listdir(EXAMPLES)):
        if not name.endswith('.dxgk'):
            continue
        trace = os.path.join(root, 'trace')
        run('run', '--quiet', os.path.join(EXAMPLES, name), DXGK_SEED='1', DXGK_TRACE=trace)
        with shown(root, trace) as page:
            for query in QUERIES:
                answer = json.loads(run('view', trace, '--query', query, '--json').stdout)
                assert page.evaluate(TEXTS % query) == answer['rows'], (name, query)
            assert page.errors == [], (name, page.errors)


def test_the_page_answers_as_the_command_does_when_its_buttons_are_pressed(root):
    needs_a_browser()
    trace = tour(root)
    with shown(root, trace) as page:
        for query in QUERIES:
            answer = json.loads(run('view', trace, '--query', query, '--json').stdout)
            page.evaluate(f'document.querySelector("[data-question={query}]").click()')
            assert page.evaluate(TEXTS % query) == answer['rows'], query
            rows = page.evaluate('document.querySelectorAll("#answer table tr").length')
            assert rows == (1 + min(200, len(answer['rows'])) if answer['rows'] else 0), query
        assert page.errors == [], page.errors


def test_keys_zoom_pan_and_step_and_everything_is_drawn(root):
    needs_a_browser()
    with shown(root, tour(root)) as page:
        whole = page.evaluate('page.model.length')
        for key, span in (('a', 0.5), ('s', 0.05), ('z', 0.1), ('x', 1.0)):
            page.key(key)
            assert abs(page.evaluate('page.view.to - page.view.from') / whole - span) < 1e-6, key
        page.key('s')
        before = page.evaluate('page.view.from')
        page.key('ArrowRight')
        assert page.evaluate('page.view.from') > before
        page.key('Home')
        for _ in range(3):
            page.key('ArrowDown')
        page.key('n')
        assert page.evaluate('page.selection.kind') in ('run', 'packet', 'mark', 'allocation')
        chosen = page.evaluate('page.selection.row')
        page.key('n')
        assert page.evaluate('page.selection.row') != chosen
        page.key('f')
        assert page.evaluate('page.view.to - page.view.from') < whole
        page.key('Escape')
        assert page.evaluate('page.selection === null')
        assert page.evaluate(SETTLED) and page.errors == [], page.errors


def test_selection_leads_on_and_links_lead_back(root):
    needs_a_browser()
    with shown(root, tour(root)) as page:
        page.evaluate('page.select({ kind: "packet", row: page.model.tables.packets.call.findIndex((call) => call > 0) }, true)')
        assert 'submitted by' in page.evaluate('document.getElementById("details").textContent')
        page.evaluate('[...document.querySelectorAll("#details a")].find((a) => a.textContent.startsWith("D3DKMT")).click()')
        assert page.evaluate('page.selection.kind') == 'call'
        page.evaluate('page.ask("why-evicted", {})')
        page.evaluate('document.querySelector("#answer td:nth-child(2) a").click()')
        assert page.evaluate('page.selection.kind') == 'allocation'
        page.until('location.hash.includes("sel=allocation")')
        address, chosen = page.evaluate('location.href'), page.evaluate('page.selection.row')
        page.open('about:blank')
        page.open(address)
        page.until('window.page !== undefined && page.frames > 0')
        assert page.evaluate('page.selection.row') == chosen
        page.evaluate('document.getElementById("words").value = "size>=2MiB"; document.getElementById("search").requestSubmit()')
        assert page.evaluate('document.querySelectorAll("#answer td").length') > 0
        assert page.errors == [], page.errors


def test_the_address_map_shows_each_byte_once(root):
    needs_a_browser()
    trace = os.path.join(root, 'trace')
    script = os.path.join(EXAMPLES, 'oversubscription.dxgk')
    run('trace', '--with', 'addresses', '-o', trace, '--', DXGK, 'run', '--quiet', script, DXGK_SEED='1')
    with shown(root, trace) as page:
        ranges = page.evaluate("""(() => {
            const { rows, segment, offset, bytes, begin, end } = page.model.tables.ranges;
            return Array.from({ length: rows }, (_, row) => [segment[row], offset[row], bytes[row], begin[row],
                end[row] < 0 ? page.model.length + 1 : end[row]]);
        })()""")
        assert ranges
        for moment in sorted({entry[3] for entry in ranges}):
            there = sorted(entry[:3] for entry in ranges if entry[3] <= moment < entry[4])
            for (segment, offset, size), (next_segment, next_offset, _) in zip(there, there[1:]):
                assert segment != next_segment or offset + size <= next_offset, (moment, there)
        page.evaluate('page.showMap(0, page.model.length / 2)')
        assert page.evaluate('document.querySelectorAll("#answer canvas, #answer td a").length') > 1
        assert page.errors == [], page.errors


def test_it_is_usable_at_the_width_of_a_phone_and_in_the_dark(root):
    needs_a_browser()
    with shown(root, tour(root), width=500, height=800, arguments=['--force-dark-mode']) as page:
        page.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
        assert page.evaluate(SETTLED)
        assert page.evaluate('page.brush.colours.paper') == '#14171b'
        assert page.evaluate('document.documentElement.scrollWidth <= innerWidth')
        assert page.evaluate('page.view.width') >= 200
        assert page.errors == [], page.errors


if __name__ == '__main__':
    tap.run_tests(globals())
