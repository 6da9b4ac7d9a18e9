#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py - the page of dxgk view in a real browser, beside what dxgk view --query and dxgk why say.

usage: page_test.py path-of-dxgk path-of-examples path-of-tools
"""

import atexit
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import browser
import page_data

DXGK, EXAMPLES = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, sys.argv[3])
import docs_pictures  # noqa: E402
import tap  # noqa: E402

QUERIES = ('why-evicted', 'longest-wait', 'thrash', 'paging-holders', 'critical-path')
TEXTS = 'questions["%s"].answer(page.model, {}).rows.map((row) => row.map((cell) => String(cell?.text ?? cell ?? "")))'
MIB = 1024 * 1024
SETTLED = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))'


def run(*words, status=0, **settings):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    done = subprocess.run([DXGK, *words], env={**kept, **settings}, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == status, done
    return done


# One tour and one browser for all tests: both take seconds.
SHARED = tempfile.TemporaryDirectory(prefix='dxgk-page-')
BROWSER = []


def tour(_root):
    trace = os.path.join(SHARED.name, 'tour.trace')
    if not os.path.exists(trace):
        done = run('tour', '--frames', '30', '--seed', '7', '--trace', trace)
        with open(os.path.join(SHARED.name, 'tour.txt'), 'w', encoding='utf-8') as file:
            file.write(done.stdout)
    return trace


def needs_a_browser():
    if not browser.program():
        raise tap.Skip('Chromium (package chromium) is not installed')
    if not BROWSER:
        BROWSER.append(browser.Browser())
        atexit.register(BROWSER[0].__exit__)


@contextlib.contextmanager
def shown(root, trace):
    page = os.path.join(root, 'view.html')
    run('view', trace, '-o', page)
    made = BROWSER[0]
    made.open('about:blank')
    made.errors.clear()
    made.open(f'file://{page}')
    made.until('window.page !== undefined && page.frames > 0')
    yield made


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


def test_nothing_takes_the_place_of_its_trace(root):
    trace, other = (os.path.join(root, name) for name in ('trace', 'other'))
    shutil.copy(tour(root), trace)
    os.link(trace, other)
    with open(trace, 'rb') as file:
        content = file.read()
    for words, status in (((trace, '-o', trace), 2), ((trace, '-o', other), 2)):
        assert 'the trace itself' in run('view', *words, status=status).stderr
    assert 'the trace itself' in run('trace', '--convert', trace, '-o', other, status=126).stderr
    assert 'and the page' in run('trace', '-o', trace, '--html', other, '--', DXGK, 'info', status=2).stderr
    new = os.path.join(root, 'new')
    assert 'and the page' in run('trace', '-o', new, '--html', new, '--', DXGK, 'info', status=2).stderr
    assert not os.path.exists(new)
    with open(trace, 'rb') as file:
        assert file.read() == content


def test_a_time_is_as_long_as_it_says(root):
    trace = tour(root)
    rows = [len(run('view', trace, '--query', 'thrash', '--within', within).stdout.splitlines())
            for within in ('1', '100000000', '9223372036855', '9223372036854775807')]
    assert rows[0] <= rows[1] == rows[2] == rows[3] and rows[1] > 1, rows


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
        page.evaluate('page.ask("why-evicted", {})')
        assert page.evaluate('document.getElementById("side").scrollTop') > 0
        page.key('n')
        assert page.evaluate('page.selection.row') != chosen
        assert page.evaluate('document.getElementById("side").scrollTop') == 0, 'what was chosen is not seen'
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


def test_what_is_drawn_adds_up_to_what_the_trace_and_the_statistics_say(root):
    needs_a_browser()
    trace = tour(root)
    with open(os.path.join(SHARED.name, 'tour.txt'), encoding='utf-8') as file:
        said = file.read()
    assert 'trace and statistics agree' in said, said
    with shown(root, trace) as page:
        for by in ('process', 'device'):
            page.evaluate(f'page.model.setOwners("{by}")')
            for segment, (sums, most, size) in enumerate(page.evaluate("""page.model.header.segments.map((segment, row) =>
                    [page.model.segmentSums[row], page.model.segmentMost[row], segment.size_bytes])""")):
                shown_in, count_in, shown_out, count_out, shown_most = re.search(
                    fr'segment {segment + 1} .*: in (\S+) MiB \((\d+)\), out (\S+) MiB \((\d+)\).* at most (\S+) MiB', said).groups()
                assert (sums['inCount'], sums['outCount']) == (int(count_in), int(count_out)), (sums, said)
                for exact, text in ((sums['inBytes'], shown_in), (sums['outBytes'], shown_out), (most, shown_most)):
                    assert f'{exact / MIB:.1f}' == text, (exact, text)
                assert most <= size
        assert page.errors == [], page.errors


def test_a_packet_leads_to_its_fence_to_paging_to_allocations_to_who_got_the_room(root):
    needs_a_browser()
    with shown(root, tour(root)) as page:
        page.evaluate("""page.select({ kind: 'packet', row: page.model.packetSyncs.findIndex((list) => list.some((sync) =>
            page.model.pagingOf(page.model.tables.syncs.process[sync], page.model.tables.syncs.sync[sync],
                                page.model.tables.syncs.value[sync]) >= 0)) - 1 }, true)""")
        follow = '[...document.querySelectorAll("#details a")].find((a) => a.textContent.includes("%s")).click()'
        page.evaluate(follow % 'fence 0x')
        assert page.evaluate('page.selection.kind') == 'fence'
        assert 'paging queue' in page.evaluate('document.getElementById("details").textContent')
        page.evaluate("""(() => {
            const { model } = page, { pagings, allocations, states } = model.tables;
            const moving = Array.from({ length: pagings.rows }, (_, row) => row).filter((row) => model.movesIn(pagings.begin[row],
                pagings.end[row]).some((state) => states.for[state] > 0 && allocations.process[states.allocation[state]] === pagings.process[row]));
            page.select({ kind: 'paging', row: moving[0] }, true);
        })()""")
        page.evaluate(follow % 'room-for allocation 0x')
        assert page.evaluate('page.selection.kind') == 'allocation'
        assert 'Whose room it got' in page.evaluate('document.getElementById("details").textContent')
        assert page.evaluate(SETTLED) and page.errors == [], page.errors


def test_a_packet_leads_to_the_allocations_of_its_list_and_back(root):
    needs_a_browser()
    trace = os.path.join(root, 'trace')
    profile = os.path.join(os.path.dirname(EXAMPLES), 'tests', 'api', 'small_physical.json')
    run('tour', '--frames', '4', '--quiet', '--trace', trace, DXGK_PROFILE=profile, DXGK_TRACE_WITH='lists')
    with shown(root, trace) as page:
        packet = page.evaluate('page.model.packetLists.findIndex((list, at) => at > 0 && list.length > 0) - 1')
        page.evaluate(f'page.select({{ kind: "packet", row: {packet} }}, true)')
        assert 'writes' in page.evaluate('document.getElementById("details").textContent')
        page.evaluate('[...document.querySelectorAll("#details a")].find((a) => a.textContent.startsWith("allocation 0x")).click()')
        assert page.evaluate('page.selection.kind') == 'allocation'
        assert 'Packets that list it' in page.evaluate('document.getElementById("details").textContent')
        assert page.errors == [], page.errors


def test_the_pointer_marks_pans_zooms_folds_and_selects(root):
    needs_a_browser()
    with shown(root, tour(root)) as page:
        whole = page.evaluate('page.model.length')
        span = 'page.view.to - page.view.from'
        left, top = page.evaluate('[page.view.left, document.getElementById("lanes").getBoundingClientRect().top]')

        def drag(x0, y0, x1, y1):
            page.mouse('mousePressed', x0, y0, button='left', clickCount=1)
            page.mouse('mouseMoved', (x0 + x1) / 2, (y0 + y1) / 2, button='left', buttons=1)
            page.mouse('mouseMoved', x1, y1, button='left', buttons=1)
            page.mouse('mouseReleased', x1, y1, button='left', clickCount=1)

        drag(left + 100, top + 8, left + 300, top + 8)
        marked = page.evaluate('page.marked[1] - page.marked[0]')
        page.key('z', modifiers=2)
        assert abs(page.evaluate(span) - marked) < 1 and page.evaluate('page.marked') is None
        before = page.evaluate('page.view.from')
        drag(left + 300, top + 60, left + 200, top + 60)
        assert page.evaluate('page.view.from') > before
        page.mouse('mouseWheel', left + 200, top + 60, deltaX=0, deltaY=-400, modifiers=2)
        page.until(f'{span} < {marked} * 0.9')
        page.key('h', modifiers=2)
        assert page.evaluate(span) == whole
        head = page.evaluate('page.shown.findIndex((lane) => lane.isHead)')
        lanes = page.evaluate('page.shown.length')
        page.click(40, top + 20 + page.evaluate(f'page.shown[{head}].top') + 8)
        assert page.evaluate('page.shown.length') < lanes
        page.click(40, top + 20 + page.evaluate(f'page.shown[{head}].top') + 8)
        x, y = page.evaluate("""(() => {
            const lane = page.shown.find((one) => one.stretches && one.stretches.length > 0);
            const { begins, ends } = lane.stretches;
            return [page.view.x((begins[0] + ends[0]) / 2), RULER + lane.top + lane.height - 6];
        })()""")
        page.click(x, top + y)
        assert page.evaluate('page.selection && page.selection.kind') == 'run'
        page.key('m')
        page.until('page.mapState !== null')
        page.key('Escape')
        assert page.evaluate('page.selection === null') and page.errors == [], page.errors


def test_owners_orders_and_filters_are_kept_in_the_address(root):
    needs_a_browser()
    with shown(root, tour(root)) as page:
        assert page.evaluate('page.model.by') == 'device'
        names = page.evaluate('[...document.querySelectorAll("#legend button")].map((one) => one.textContent.split(" ")[0])')
        assert sorted(names) == ['frames', 'idle', 'stream'], names
        rows = page.evaluate('page.shown.length')
        page.evaluate('document.querySelector("#legend button").click()')
        assert page.evaluate('page.shown.length') < rows
        for name in ('size', 'bytes moved', 'evictions', 'wait caused'):
            page.evaluate(f'(() => {{ const order = document.getElementById("order"); order.value = "{name}"; order.dispatchEvent(new Event("change")); }})()')
            values = page.evaluate(f"""page.lanes.filter((lane) => lane instanceof AllocationLane)
                .map((lane) => ALLOCATION_ORDERS["{name}"](page.model)[lane.allocation])""")
            assert values == sorted(values, reverse=True) and len(set(values)) > 1, name
        page.until('location.hash.includes("hide=owner") && location.hash.includes("order=wait")')
        address, left = page.evaluate('location.href'), page.evaluate('page.shown.length')
        page.open('about:blank')
        page.open(address)
        page.until('window.page !== undefined && page.frames > 0')
        assert page.evaluate('page.shown.length') == left and page.evaluate('page.options.order') == 'wait caused'
        page.evaluate('document.getElementById("map-button").click()')
        assert '--with addresses' in page.evaluate('document.getElementById("answer").textContent')
        assert page.errors == [], page.errors


def test_the_picture_is_the_same_as_a_file_and_each_time(root):
    needs_a_browser()
    with shown(root, tour(root)) as page:
        text = page.evaluate('page.toSvg()')
        picture = xml.etree.ElementTree.fromstring(text)
        assert text == page.evaluate('page.toSvg()')
        titles = [one.text for one in picture.iter('{http://www.w3.org/2000/svg}text')]
        for title in page.evaluate('page.shown.filter((lane) => lane.top < page.brush.height - 40 && !lane.isHead && lane.title).map((lane) => lane.title)'):
            assert title in titles, (title, titles)
        assert page.evaluate('[20, 26, 45, 80].map((width) => textWithin("12 signal", width))') == ['12', '12', '12 si…', '12 signal']
        # Behind the text of a box is nothing but its colour, and beside it the pattern that says whose it is.
        assert page.evaluate("""(() => {
            const plates = [], fill = page.brush.fill;
            const brush = Object.assign(Object.create(Brush.prototype), page.brush, { fill: (...box) => plates.push(box), text: () => {} });
            for (const width of [29, 60, 300])
                brush.label('12345 a packet', 100, 50, width, '#009e73');
            for (const text of ['12345 D3DKMTMakeResident', 'WWWWWWWWWWWWWWWWWWWWWWWWWW', 'iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii']) {
                for (let width = 28; width < 200; width++) {
                    let end = 0;
                    const writes = Object.assign(Object.create(Brush.prototype), page.brush, { fill: () => {},
                        text: (shown, x) => { end = x + page.brush.context.measureText(shown).width; } });
                    writes.label(text, 0, 50, width, '#009e73');
                    if (end > width)
                        return false;
                }
            }
            return plates.every(([, x, y, width, height], i) => x === 100 && y <= 44 && y + height >= 55 && width <= [29, 60, 300][i] - 6);
        })()""")
        patterns = {one.get('id') for one in picture.iter('{http://www.w3.org/2000/svg}pattern')}
        assert len(patterns) >= 2, 'owners differ by more than colour'


def test_the_pictures_of_the_docs_are_of_this_program(_root):
    needs_a_browser()
    for name, text in docs_pictures.pictures(DXGK).items():
        with open(os.path.join(os.path.dirname(EXAMPLES), 'docs', 'pictures', name), encoding='utf-8') as file:
            kept, now = structure(file.read()), structure(text)
        assert kept == now, f'docs/pictures/{name} is another: make docs-pictures: {kept} and {now}'


def structure(text):
    """Which lanes or panels a picture has, from top to bottom, and in which colours and patterns; not when what happened."""
    picture = xml.etree.ElementTree.fromstring(text)
    titles = [re.sub(r'(0x)?[0-9a-f]*\d[0-9a-f.]*', '#', one.text or '') for one in picture.iter('{http://www.w3.org/2000/svg}text')
              if one.get('fill') in (None, '#1b1f24')]
    return titles, sorted({one.get('fill') for one in picture.iter() if one.get('fill') not in (None, 'none')})


def test_it_is_usable_at_the_width_of_a_phone_and_in_the_dark(root):
    needs_a_browser()
    with shown(root, tour(root)) as page:
        page.call('Emulation.setDeviceMetricsOverride', width=390, height=844, deviceScaleFactor=2, mobile=True)
        page.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
        assert page.evaluate(SETTLED)
        assert page.evaluate('page.brush.colours.paper') == '#14171b'
        assert page.evaluate('document.documentElement.scrollWidth <= innerWidth')
        assert page.evaluate('page.view.width') >= 200
        queues = page.evaluate("""page.shown.filter((lane) => /queue|context/.test(lane.title)).map((lane) => page.titleLines(lane).map(
            (line) => [line, page.brush.context.measureText(line).width + 8 + 10 * lane.level <= page.view.left - 4]))""")
        assert len(queues) >= 6
        assert all(is_whole for lines in queues for _, is_whole in lines), queues
        assert len({' '.join(line for line, _ in lines) for lines in queues}) == len(queues), 'one looks like another'
        page.call('Emulation.setEmulatedMedia', features=[])
        page.call('Emulation.clearDeviceMetricsOverride')
        assert page.errors == [], page.errors


if __name__ == '__main__':
    tap.run_tests(globals())
