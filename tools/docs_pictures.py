#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs_pictures.py - draws the pictures of docs/seeing.md, of a seeded run: the page's own, and the dashboard's.

usage: docs_pictures.py path-of-dxgk folder

The run and the drawing are the same each time, and so are the files. What the kernel does may take other times one day: tests/view/page_test.py
compares what the pictures are made of.
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path.insert(0, os.path.join(ROOT, 'tests', 'view'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402
import dashboard_picture  # noqa: E402
import page_data  # noqa: E402

SCRIPT = os.path.join(ROOT, 'examples', 'pressure.dxgk')
WIDTH = 1000
# What is done before each is drawn.
PICTURES = {
    'timeline.svg': '',
    'packet.svg': """
        const { packets } = page.model.tables;
        const chosen = Array.from({ length: packets.rows }, (_, at) => at).filter((at) => page.model.packetRuns[at + 1].length > 0 &&
            page.model.packetOwner(at) === 0)[6];
        page.hidden = new Set(['segments', 'allocations', 'kernel']);
        page.select({ kind: 'call', row: packets.call[chosen] - 1 }, true);
        page.select({ kind: 'packet', row: chosen }, true);
        page.view.show(packets.queued[chosen] - 3e5, packets.left[chosen] + 5e5);""",
    'allocation.svg': """
        page.hidden = new Set(['nodes', 'kernel']);
        page.lanes.find((lane) => lane.isHead && lane.group === 'process 0').isFolded = true;
        page.select({ kind: 'allocation', row: page.model.evictions.indexOf(Math.max(...page.model.evictions)) }, true);""",
}


def draw(shown, before):
    shown.evaluate(f"""(() => {{
        {before}
        page.arrange();
        document.getElementById('scroll').scrollTop = 0;
        page.view.left = 200;
        page.view.width = {WIDTH} - 218;
        page.brush.width = {WIDTH};
        page.brush.height = page.total + RULER;
    }})()""")
    return shown.evaluate('page.toSvg()')


def pictures(dxgk):
    """{name of the file: text}."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    made = {}
    with tempfile.TemporaryDirectory(prefix='dxgk-pictures-') as folder:
        page = os.path.join(folder, 'view.html')
        subprocess.run([dxgk, 'run', '--quiet', '--seed', '1', '--html', page, SCRIPT], env=environment, check=True, stdout=subprocess.DEVNULL)
        made['dashboard.svg'] = dashboard_picture.draw(os.path.join(ROOT, 'examples', 'grafana', 'opendxgk.json'), *page_data.read(page))
        with browser.Browser() as shown:
            shown.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'light'}])
            for name, before in PICTURES.items():
                shown.open('about:blank')
                shown.open(f'file://{page}')
                shown.until('window.page !== undefined && page.frames > 0')
                made[name] = draw(shown, before)
            if shown.errors:
                raise SystemExit(f'docs_pictures: {shown.errors}')
    return made


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__.split('\n\n')[1])
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, text in pictures(os.path.abspath(sys.argv[1])).items():
        with open(os.path.join(sys.argv[2], name), 'w', encoding='utf-8') as file:
            file.write(text)


if __name__ == '__main__':
    main()
