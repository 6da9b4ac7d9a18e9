# SPDX-License-Identifier: MIT
"""The dashboard of examples/grafana as a picture: its panels where they are, with curves of a seeded run.

Not Grafana's own drawing: a simulated run can be asked for nothing while it runs, so what each metric would have said is
added up from its trace.
"""
import json
import re
import xml.sax.saxutils

WIDTH, UNIT, GRID, STEPS = 1000, 26, 24, 120
COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00')
DASHES = ('', '6 3', '2 3', '8 3 2 3')
ENTERING, IN, LEAVING, DISCARDED = 1, 2, 3, 2
API_CALL, GOOD = 0, ('', 'STATUS_SUCCESS', 'STATUS_PENDING')
UNITS = {'bytes': (1 << 20, 'MiB'), 'Bps': (1 << 20, 'MiB/s'), 'percentunit': (0.01, '%'), 'ops': (1, '/s'), 's': (1e-6, 'µs'), 'none': (1, '')}


class Run:
    """{label: [value at each step]} for each metric."""

    def __init__(self, header, tables):
        self.header, self.tables = header, tables
        self.length = max(1, header['length_ns'])
        self.step = self.length / STEPS

    def text(self, number):
        return self.header['texts'][number]

    def held(self, changes):
        """Of [(time, what it is from then on)]."""
        values, now, at = [], 0, 0
        for step in range(STEPS):
            while at < len(changes) and changes[at][0] <= (step + 1) * self.step:
                now = changes[at][1]
                at += 1
            values.append(now)
        return values

    def rate(self, moments):
        """Of [(time, how much)], a second."""
        values = [0.0] * STEPS
        for time, much in moments:
            values[min(STEPS - 1, int(time / self.step))] += much / (self.step / 1e9)
        return values

    def segment(self, row):
        return f'segment {self.tables["segments"]["number"][row]}'

    def moves(self):
        """(time, segment's row, bytes, is it in) for each that arrived or left."""
        states, size = self.tables['states'], self.tables['allocations']['size']
        before = {}
        for allocation, time, state, segment in zip(*(states[name] for name in ('allocation', 'time', 'state', 'segment'))):
            last, where = before.get(allocation, (0, 0))
            if (last, state) == (ENTERING, IN):
                yield time, segment - 1, size[allocation], True
            elif segment == 0 and where and last != ENTERING:
                yield time, where - 1, size[allocation], False
            before[allocation] = (state, segment)

    def dxgk_segment_resident_bytes(self):
        now, changes = {}, {}
        for time, segment, size, is_in in self.moves():
            now[segment] = now.get(segment, 0) + (size if is_in else -size)
            changes.setdefault(self.segment(segment), []).append((time, now[segment]))
        return {label: self.held(list_) for label, list_ in changes.items()}

    def dxgk_segment_size_bytes(self):
        return {f'{self.segment(row)} size': [size] * STEPS for row, size in enumerate(self.tables['segments']['size'])}

    def dxgk_paging_bytes_total(self):
        return {way: self.rate([(time, size) for time, _, size, is_in in self.moves() if is_in == (way == 'in')]) for way in ('in', 'out')}

    def dxgk_discarded_bytes_total(self):
        offers, size = self.tables['offers'], self.tables['allocations']['size']
        return {'discarded': self.rate([(time, size[allocation]) for allocation, time, state in
                                        zip(offers['allocation'], offers['time'], offers['state']) if state == DISCARDED])}

    def dxgk_node_busy_seconds_total(self):
        runs, nodes = self.tables['runs'], self.tables['nodes']
        busy = {f'node {number}': [0.0] * STEPS for number in nodes['number']}
        for node, begin, end in zip(runs['node'], runs['begin'], runs['end']):
            values = busy[f'node {nodes["number"][node]}']
            end = self.length if end < 0 else end
            for step in range(int(begin / self.step), min(STEPS - 1, int(end / self.step)) + 1):
                values[step] += max(0, min(end, (step + 1) * self.step) - max(begin, step * self.step)) / self.step
        return {label: [min(1.0, value) for value in values] for label, values in busy.items()}

    def dxgk_packets_completed_total(self):
        runs, nodes = self.tables['runs'], self.tables['nodes']
        return {f'node {number}': self.rate([(end, 1) for of, end in zip(runs['node'], runs['end']) if of == row and end >= 0])
                for row, number in enumerate(nodes['number'])}

    def process_bytes(self, kind, label):
        series, counters = self.tables['series'], self.tables['counters']
        return {f'process {process} {label}': self.held([(time, value) for of, time, value in
                                                         zip(counters['series'], counters['time'], counters['value']) if of == row])
                for row, (what, process, group) in enumerate(zip(series['kind'], series['process'], series['group']))
                if what == kind and self.text(group) == 'local'}

    def dxgk_process_used_bytes(self):
        return self.process_bytes(1, 'used')

    def dxgk_process_budget_bytes(self):
        return self.process_bytes(0, 'budget')

    def marks(self, kind):
        return [(time, 1) for time, of in zip(self.tables['marks']['time'], self.tables['marks']['kind']) if self.text(of) == kind]

    def dxgk_refusals_total(self):
        return {'refusals': self.rate(self.marks('refusal'))}

    def dxgk_resets_total(self):
        return {'': [len(self.marks('reset'))] * STEPS}

    def api_calls(self):
        """(name, when it was over, how long it took, did it succeed) of each call of a client."""
        calls = self.tables['calls']
        for name, kind, begin, length, status in zip(*(calls[column] for column in ('name', 'kind', 'begin', 'length', 'status'))):
            if kind == API_CALL and length >= 0:
                yield self.text(name), begin + length, length / 1e9, self.text(status) in GOOD

    def dxgk_calls_total(self):
        return {result: self.rate([(time, 1) for _, time, _, is_good in self.api_calls() if is_good == (result == 'success')])
                for result in ('success', 'failure')}

    def dxgk_call_seconds_sum(self):
        """The mean in each step of the two kinds that took longest, as the panel asks for."""
        spent, made = {}, {}
        for name, time, seconds, _ in self.api_calls():
            step = min(STEPS - 1, int(time / self.step))
            spent.setdefault(name, [0.0] * STEPS)[step] += seconds
            made.setdefault(name, [0] * STEPS)[step] += 1
        means = {name: [much / max(1, count) for much, count in zip(spent[name], made[name])] for name in spent}
        return {name: means[name] for name in sorted(means, key=lambda name: (-max(means[name]), name))[:2]}

    def dxgk_quota_refusals_total(self):
        marks = self.tables['marks']
        return {'quotas': self.rate([(time, 1) for time, of, rule in zip(marks['time'], marks['kind'], marks['text'])
                                     if self.text(of) == 'refusal' and 'SYS-QUOTA' in self.text(rule)])}

    def dxgk_ring_sleeps_total(self):
        return {'sleeps': [0.0] * STEPS}  # no server, no rings

    def dxgk_clients(self):
        return self.dxgk_processes()

    def dxgk_client_deaths_total(self):
        return {'': [0] * STEPS}  # a simulated run has nobody who is killed

    def dxgk_processes(self):
        return {'': [len(self.tables['processes']['id'])] * STEPS}


def text(x, y, said, more=''):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{xml.sax.saxutils.escape(said)}</text>'


def curves(panel, series, x, y, wide, high):
    scale, unit = UNITS[panel['fieldConfig']['defaults'].get('unit', 'none')]
    top = max([max(values) for values in series.values()] or [0]) or 1
    parts = [text(x + 8, y + 34, f'{top / scale:.4g} {unit}', 'fill="#767d86"'),
             f'<path d="M{x + 8:.1f} {y + high - 34:.1f}h{wide - 16:.1f}" stroke="#e2e5e9"/>']
    legend = x + 8
    for number, (label, values) in enumerate(series.items()):
        points = ' '.join(f'{x + 8 + (wide - 16) * step / (STEPS - 1):.1f} {y + high - 34 - (high - 74) * value / top:.1f}'
                          for step, value in enumerate(values))
        look = f'stroke="{COLOURS[number % 6]}" stroke-dasharray="{DASHES[number % 4]}"'
        parts += [f'<polyline points="{points}" fill="none" stroke-width="1.5" {look}/>',
                  f'<path d="M{legend:.1f} {y + high - 14:.1f}h18" stroke-width="2" {look}/>', text(legend + 22, y + high - 10, label)]
        legend += 34 + 6.2 * len(label)
    return parts


def draw(path, header, tables):
    with open(path, encoding='utf-8') as file:
        panels = json.load(file)['panels']
    run = Run(header, tables)
    high = max(panel['gridPos']['y'] + panel['gridPos']['h'] for panel in panels) * UNIT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" font-family="system-ui, sans-serif" font-size="11">',
             f'<rect width="{WIDTH}" height="{high}" fill="#fff"/>']
    for panel in panels:
        place = panel['gridPos']
        x, y, wide, tall = place['x'] * WIDTH / GRID + 4, place['y'] * UNIT + 4, place['w'] * WIDTH / GRID - 8, place['h'] * UNIT - 8
        series = {}
        for target in panel['targets']:
            series.update(getattr(run, re.search(r'dxgk_\w+', target['expr']).group())())
        parts += [f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" fill="none" stroke="#b7c0ca"/>',
                  text(x + 8, y + 17, panel['title'], 'font-weight="bold"')]
        if panel['type'] == 'stat':
            parts.append(text(x + wide / 2, y + tall / 2 + 16, str(sum(values[-1] for values in series.values())), 'font-size="28" text-anchor="middle"'))
        else:
            parts += curves(panel, series, x, y, wide, tall)
    return '\n'.join([*parts, '</svg>', ''])
