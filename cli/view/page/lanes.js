// The lanes, from top to bottom: marks; the nodes of each adapter; hardware queues; for each process its
// queues, calls and budget; segments; allocations. A lane draws itself and says what lies at a point.
'use strict';

const ROW = 14;
const STACK_LEVELS = 6;
const CURVE_HEIGHT = 56;
const BOXES_AT_MOST = 1500;         // more of them in a stack are drawn as its height alone

class Lane {
	constructor(model, title, height, about = {}) {
		Object.assign(this, { model, title, height, process: -2, group: '', level: 0, isFolded: false }, about);
	}

	draw() {}

	// What lies there: {kind, row}, or null.
	hit() {
		return null;
	}

	// The one after (or before) `selection` in time, for the keyboard.
	step() {
		return null;
	}
}

function stepIn(stretches, rowOf, selection, direction, view) {
	if (stretches.length === 0)
		return null;
	let index = selection === null ? -1 : stretches.rows.findIndex((row) => rowOf(row) === selection.row);
	if (index < 0)
		index = direction > 0 ? stretches.range(view.from, view.to)[0] - 1 : stretches.range(view.from, view.to)[1];
	index += direction;
	return index >= 0 && index < stretches.length ? stretches.rows[index] : null;
}

class HeadLane extends Lane {
	constructor(model, title, about) {
		super(model, title, 22, { isHead: true, ...about });
	}

	draw(brush, view, y) {
		brush.fill(brush.colours.band, 0, y, brush.width, this.height);
		brush.text(`${this.isFolded ? '▸' : '▾'} ${this.title}`, 6 + 12 * this.level, y + this.height / 2);
	}
}

// Packets fall down a stack as those before them end, as in GPUView: the lowest is the one at work.
class StackLane extends Lane {
	constructor(model, title, stretches, item, about) {
		super(model, title, STACK_LEVELS * 9 + 4, about);
		this.stretches = stretches;
		this.item = item;            // {kind, process(row), hatch(row), label(row), select(row)}
	}

	draw(brush, view, y) {
		const [first, last] = this.stretches.range(view.from, view.to);
		if (last - first <= BOXES_AT_MOST)
			this.eachBox(first, last, view, (index, from, to, level) =>
				this.drawBox(brush, view, y, index, from, to, level));
		else
			this.drawFlat(brush, view, y);
	}

	boxTop(y, level) {
		return y + this.height - 2 - 9 * (Math.min(level, STACK_LEVELS - 1) + 1);
	}

	drawBox(brush, view, y, index, from, to, level) {
		if (level >= STACK_LEVELS)
			return;
		const row = this.stretches.rows[index];
		const x = Math.max(view.left, view.x(from));
		const width = Math.max(1, Math.min(view.left + view.width, view.x(to)) - x);
		const hatch = this.item.hatch(row);
		const process = this.item.process(row);
		brush.fill(hatch ? brush.pattern(hatch, processColour(process)) : processFill(brush, process), x,
			this.boxTop(y, level), width - (width > 3 ? 1 : 0), 8);
		if (width > LABEL_ROOM)
			brush.label(this.item.label(row), x, this.boxTop(y, level) + 4.5, width);
	}

	drawFlat(brush, view, y) {
		eachSeen(this.stretches, view, (index, x, width) =>
			brush.fill(processFill(brush, this.item.process(this.stretches.rows[index])), x, this.boxTop(y, 0), width, 8));
		const depth = this.depthSeries();
		for (let x = 0; x < view.width; x++) {
			const most = depth.mostIn(view.time(view.left + x), view.time(view.left + x + 1));
			const levels = Math.min(most, STACK_LEVELS) - 1;
			if (levels > 0)
				brush.fill(brush.colours.faint, view.left + x, this.boxTop(y, levels), 1, 9 * levels - 1);
		}
	}

	depthSeries() {
		if (!this.depth) {
			const steps = [];
			for (let i = 0; i < this.stretches.length; i++) {
				steps.push([this.stretches.begins[i], 1]);
				if (this.stretches.ends[i] !== FOREVER)
					steps.push([this.stretches.ends[i], -1]);
			}
			steps.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
			let depth = 0;
			this.depth = new Series(Float64Array.from(steps, (step) => step[0]),
				Float64Array.from(steps, (step) => depth += step[1]));
		}
		return this.depth;
	}

	// Each stretch at each level it has while it is seen.
	eachBox(first, last, view, box) {
		const { begins, ends } = this.stretches;
		const ending = [];
		for (let i = first; i < last; i++)
			ending.push(i);
		ending.sort((a, b) => ends[a] - ends[b]);
		const live = [];
		let nextEnd = 0;
		const leave = (index) => {
			const at = live.findIndex((entry) => entry.index === index);
			if (at < 0)
				return;
			box(index, live[at].since, ends[index], at);
			for (let above = at + 1; above < live.length; above++) {
				if (live[above].since < ends[index])
					box(live[above].index, live[above].since, ends[index], above);
				live[above].since = Math.max(live[above].since, ends[index]);
			}
			live.splice(at, 1);
		};
		for (let i = first; i < last; i++) {
			for (; nextEnd < ending.length && ends[ending[nextEnd]] <= begins[i]; nextEnd++)
				leave(ending[nextEnd]);
			live.push({ index: i, since: begins[i] });
		}
		for (; nextEnd < ending.length && ends[ending[nextEnd]] !== FOREVER; nextEnd++)
			leave(ending[nextEnd]);
		live.forEach((entry, at) => box(entry.index, entry.since, view.length, at));
	}

	hit(time, y, view) {
		const level = Math.floor((this.height - 2 - y) / 9);
		const slack = 2 * view.perPixel;
		const [first, last] = this.stretches.range(time - slack, time + slack);
		let found = null;
		if (last - first <= BOXES_AT_MOST)
			this.eachBox(first, last, view, (index, from, to, at) => {
				if (at === level && from <= time + slack && to >= time - slack)
					found = this.stretches.rows[index];
			});
		else
			found = this.stretches.rows[Math.max(0, this.stretches.at(time))];
		return found === null ? null : this.item.select(found);
	}

	step(selection, direction, view) {
		const row = stepIn(this.stretches, (r) => this.item.select(r).row, selection, direction, view);
		return row === null ? null : this.item.select(row);
	}
}

// Stretches that do not overlap.
class BarLane extends Lane {
	constructor(model, title, stretches, item, about) {
		super(model, title, ROW + 2, about);
		this.stretches = stretches;
		this.item = item;            // {fill(brush, row), label(row), select(row)}
	}

	draw(brush, view, y) {
		eachSeen(this.stretches, view, (index, x, width) => {
			const row = this.stretches.rows[index];
			brush.fill(this.item.fill(brush, row), x, y + 1, width - (width > 3 ? 1 : 0), ROW);
			if (width > LABEL_ROOM)
				brush.label(this.item.label(row), x, y + 1 + ROW / 2, width);
		});
	}

	hit(time, y, view) {
		let index = this.stretches.at(time);
		if (index < 0) {
			const [first, last] = this.stretches.range(time - 3 * view.perPixel, time + 3 * view.perPixel);
			index = first < last ? first : -1;
		}
		return index < 0 ? null : this.item.select(this.stretches.rows[index]);
	}

	step(selection, direction, view) {
		const row = stepIn(this.stretches, (r) => this.item.select(r).row, selection, direction, view);
		return row === null ? null : this.item.select(row);
	}
}

class MarkLane extends Lane {
	constructor(model, title, rows, about) {
		super(model, title, ROW + 4, about);
		const { time } = model.tables.marks;
		this.rows = rows;
		this.times = Float64Array.from(rows, (row) => time[row]);
	}

	draw(brush, view, y) {
		const last = lowerBound(this.times, view.to);
		for (let i = lowerBound(this.times, view.from); i < last; i++) {
			const x = view.x(this.times[i]);
			brush.context.fillStyle = brush.colours.mark;
			brush.context.beginPath();
			brush.context.moveTo(x - 4, y + 2);
			brush.context.lineTo(x + 4, y + 2);
			brush.context.lineTo(x, y + ROW);
			brush.context.fill();
			i = Math.max(i, lowerBound(this.times, view.time(x + 2), i + 1, last) - 1);
		}
	}

	hit(time, y, view) {
		const first = lowerBound(this.times, time - 5 * view.perPixel);
		return first < this.times.length && this.times[first] <= time + 5 * view.perPixel
			? { kind: 'mark', row: this.rows[first] } : null;
	}

	step(selection, direction, view) {
		let index = selection && selection.kind === 'mark' ? this.rows.indexOf(selection.row) + direction
			: direction > 0 ? lowerBound(this.times, view.from) : lowerBound(this.times, view.to) - 1;
		return index >= 0 && index < this.rows.length ? { kind: 'mark', row: this.rows[index] } : null;
	}
}

// Bytes of each process, one on top of the other; the line is the segment's size.
class SegmentLane extends Lane {
	constructor(model, segment, about) {
		super(model, model.segmentName(segment), CURVE_HEIGHT, about);
		this.segment = segment;
		this.size = model.header.segments[segment].size_bytes;
	}

	draw(brush, view, y) {
		const series = this.model.segmentSeries[this.segment];
		const top = Math.max(this.size, 1);
		const scale = (this.height - 6) / top;
		const bottom = y + this.height - 2;
		for (let x = 0; x < view.width; x++) {
			const time = view.time(view.left + x);
			let under = 0;
			series.forEach((one, owner) => {
				const bytes = one.values.length ? one.at(time) : 0;
				if (bytes <= 0)
					return;
				const process = owner < this.model.processes.length ? owner : -1;
				brush.fill(processFill(brush, process), view.left + x, bottom - (under + bytes) * scale, 1, bytes * scale);
				under += bytes;
			});
		}
		brush.line(brush.colours.ink, view.left, bottom - top * scale, view.left + view.width, bottom - top * scale);
		brush.text(bytesText(this.size), 8 + 12 * this.level, y + this.height - 14, brush.colours.faint);
	}

	hit(time) {
		return { kind: 'segment', row: this.segment, time };
	}
}

// What a process uses, as an area, and its budget, as a line.
class BudgetLane extends Lane {
	constructor(model, title, usage, budget, about) {
		super(model, title, CURVE_HEIGHT, about);
		this.usage = usage;
		this.budget = budget;
		this.most = Math.max(1, usage ? usage.top : 0, budget ? budget.top : 0);
	}

	draw(brush, view, y) {
		const scale = (this.height - 6) / this.most;
		const bottom = y + this.height - 2;
		let before = null;
		for (let x = 0; x < view.width; x++) {
			const from = view.time(view.left + x);
			if (this.usage) {
				const used = this.usage.mostIn(from, from + view.perPixel) * scale;
				brush.fill(processFill(brush, this.process), view.left + x, bottom - used, 1, used);
			}
			const limit = this.budget ? this.budget.at(from) : 0;
			if (limit > 0 && before !== null)
				brush.line(brush.colours.ink, view.left + x - 1, bottom - before * scale, view.left + x, bottom - limit * scale);
			before = limit > 0 ? limit : null;
		}
		brush.text(bytesText(this.most), 8 + 12 * this.level, y + this.height - 14, brush.colours.faint);
	}

	hit(time) {
		return { kind: 'budget', row: this.process, time };
	}
}

// Where an allocation is: the height of its bar says it as well as the colour.
class AllocationLane extends Lane {
	constructor(model, allocation, about) {
		super(model, '', ROW, about);
		this.allocation = allocation;
	}

	get name() {
		return `${this.model.allocationName(this.allocation)} ${bytesText(this.model.tables.allocations.size[this.allocation])}`;
	}

	draw(brush, view, y) {
		const { model, allocation } = this;
		const { allocations, states } = model.tables;
		const list = model.statesOf(allocation);
		const end = model.endOf(allocation);
		brush.text(this.name, 8 + 12 * this.level, y + ROW / 2);
		this.bar(brush, view, y, allocations.born[allocation], end, 'out');
		for (let i = 0; i < list.length; i++) {
			const from = states.time[list[i]];
			if (from > view.to)
				break;
			const to = model.stateEnd(list, i, allocation);
			const kind = ['out', 'entering', 'in', 'leaving', 'shifting'][states.state[list[i]]];
			if (to >= view.from && kind !== 'out')
				this.bar(brush, view, y, from, to, kind);
			i = this.skip(list, i, view.time(view.x(from) + 1));
		}
		this.drawOffers(brush, view, y, end);
		this.drawLocks(brush, view, y, end);
	}

	// The last state that begins before `time`, at least this one: what lies within a pixel is one.
	skip(list, i, time) {
		const { states } = this.model.tables;
		let low = i, high = list.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >>> 1;
			if (states.time[list[middle]] < time)
				low = middle;
			else
				high = middle - 1;
		}
		return Math.max(i, low - 1);
	}

	bar(brush, view, y, from, to, kind) {
		const x = Math.max(view.left, view.x(from));
		const width = Math.min(view.left + view.width, view.x(to)) - x;
		if (width < 0)
			return;
		const wide = Math.max(1, width);
		const process = this.model.tables.allocations.process[this.allocation] - 1;
		const { colours } = brush;
		if (kind === 'out')
			brush.fill(colours.out, x, y + ROW / 2, wide, 2);
		else if (kind === 'in')
			brush.fill(processColour(process), x, y + 2, wide, ROW - 4);
		else
			brush.fill(brush.pattern(kind === 'entering' ? 'up' : kind === 'leaving' ? 'down' : 'cross', colours.moving),
				x, y + 2, wide, ROW - 4);
	}

	drawOffers(brush, view, y, end) {
		const { offers } = this.model.tables;
		const list = this.model.offersOf(this.allocation);
		for (let i = 0; i < list.length; i++) {
			const state = offers.state[list[i]];
			const from = offers.time[list[i]];
			const to = i + 1 < list.length ? offers.time[list[i + 1]] : end;
			if (state === OFFER.NONE || to < view.from || from > view.to)
				continue;
			const x = Math.max(view.left, view.x(from));
			const width = Math.max(1, Math.min(view.left + view.width, view.x(to)) - x);
			const colour = state === OFFER.OFFERED ? brush.colours.offered : brush.colours.lost;
			brush.fill(brush.pattern(state === OFFER.OFFERED ? 'dots' : 'cross', colour), x, y + ROW - 5, width, 4);
		}
	}

	drawLocks(brush, view, y, end) {
		const { locks } = this.model.tables;
		const list = this.model.locksOf(this.allocation);
		for (let i = 0; i < list.length; i++) {
			const from = locks.time[list[i]];
			const to = i + 1 < list.length ? locks.time[list[i + 1]] : end;
			if (locks.count[list[i]] === 0 || to < view.from || from > view.to)
				continue;
			const x = Math.max(view.left, view.x(from));
			brush.fill(brush.colours.ink, x, y + 1, Math.max(1, Math.min(view.left + view.width, view.x(to)) - x), 1);
		}
	}

	hit(time) {
		return { kind: 'allocation', row: this.allocation, time };
	}

	step(selection, direction) {
		return { kind: 'allocation', row: this.allocation };
	}
}

// ---- which lanes there are ----

const ALLOCATION_ORDERS = {
	'as created': (model) => model.tables.allocations.born,
	'size': (model) => model.tables.allocations.size,
	'bytes moved': (model) => model.movedBytes,
	'evictions': (model) => model.evictions,
	'wait caused': (model) => model.waitCaused,
};

function packetItem(model) {
	const { packets } = model.tables;
	return {
		process: (row) => model.packetProcess(row),
		hatch: (row) => hatchOf(model.text(packets.outcome[row])),
		label: (row) => `${packets.ticket[row]} ${model.text(packets.kind[row])}`,
		select: (row) => ({ kind: 'packet', row }),
	};
}

function runItem(model) {
	const { runs, packets } = model.tables;
	return {
		process: (row) => model.runProcess(row),
		hatch: (row) => hatchOf(model.text(runs.outcome[row])),
		label: (row) => runs.packet[row] > 0 ? `${packets.ticket[runs.packet[row] - 1]}` : `fence ${runs.fence[row]}`,
		select: (row) => ({ kind: 'run', row }),
	};
}

function hatchOf(outcome) {
	return ['completed', 'done', ''].includes(outcome) ? '' : outcome === 'preempted' ? 'up' : 'cross';
}

function callItem(model) {
	const { calls } = model.tables;
	return {
		fill: (brush, row) => {
			const status = model.text(calls.status[row]);
			const colour = processColour(calls.process[row] - 1);
			return status !== '' && status !== 'STATUS_SUCCESS' && status !== 'STATUS_PENDING' ? brush.pattern('cross', colour) : colour;
		},
		label: (row) => model.text(calls.name[row]),
		select: (row) => ({ kind: 'call', row }),
	};
}

function buildLanes(model, options) {
	const lanes = [];
	const head = (title, about) => lanes.push(new HeadLane(model, title, about));
	const add = (lane) => lanes.push(lane);
	addMarks(model, head, add);
	addNodes(model, head, add);
	addHardwareQueues(model, head, add);
	model.processes.forEach((_, process) => addProcess(model, process, head, add));
	addThreadsOfNobody(model, head, add);
	addSegments(model, head, add);
	addAllocations(model, options, head, add);
	return lanes;
}

function addMarks(model, head, add) {
	const { marks } = model.tables;
	if (marks.rows === 0)
		return;
	head('marks: refusals, reports, faults, resets', { group: 'marks' });
	add(new MarkLane(model, `${marks.rows} marks`, Array.from({ length: marks.rows }, (_, row) => row), { group: 'marks', level: 1 }));
}

function addNodes(model, head, add) {
	if (model.header.nodes.length === 0)
		return;
	head('nodes: what the hardware has', { group: 'nodes' });
	const order = model.header.nodes.map((_, node) => node).sort((a, b) => model.header.nodes[a].adapter - model.header.nodes[b].adapter ||
		model.header.nodes[a].node - model.header.nodes[b].node);
	order.forEach((node) =>
		add(new StackLane(model, model.nodeName(node), model.nodeRuns[node], runItem(model), { group: 'nodes', level: 1 })));
}

function addHardwareQueues(model, head, add) {
	const queues = model.header.queues.flatMap((queue, index) => queue.kind === 'hardware queue' ? [index] : []);
	if (queues.length === 0)
		return;
	head('hardware queues', { group: 'hardware queues' });
	for (const queue of queues)
		add(new StackLane(model, `${model.queueName(queue)}`, model.queuePackets[queue], packetItem(model),
			{ group: 'hardware queues', level: 1, process: model.header.queues[queue].process }));
}

function addProcess(model, process, head, add) {
	const about = { group: `process ${process}`, process, level: 1 };
	head(model.processName(process), { group: about.group, process });
	model.header.queues.forEach((queue, index) => {
		if (queue.process === process && queue.kind !== 'hardware queue')
			add(new StackLane(model, model.queueName(index), model.queuePackets[index], packetItem(model), about));
	});
	for (const groupName of ['local', 'non-local']) {
		const find = (kind) => model.header.series.findIndex((one) =>
			one.kind === kind && one.process === process && one.group === groupName);
		const usage = find('usage'), budget = find('budget');
		if (usage >= 0 || budget >= 0)
			add(new BudgetLane(model, `${groupName} memory, budget`, model.series[usage], model.series[budget], about));
	}
	addThreads(model, process, about, head, add);
}

// Folded, unless somebody opens them: calls are many.
function addThreads(model, process, about, head, add) {
	const threads = model.header.threads.flatMap((thread, index) =>
		thread.process === process && model.threadCalls[index].length > 0 ? [index] : []);
	if (threads.length === 0)
		return;
	const group = `calls ${process}`;
	head(`calls${process < 0 ? ' of the kernel and drivers' : ''}`, { group, process, level: 1, parent: about.group, isFolded: true });
	for (const thread of threads) {
		model.threadCalls[thread].forEach((stretches, depth) =>
			add(new BarLane(model, depth === 0 ? model.header.threads[thread].name || `thread ${model.header.threads[thread].id}` : '',
				stretches, callItem(model), { group, process, level: 2, parent: about.group })));
	}
}

function addThreadsOfNobody(model, head, add) {
	addThreads(model, -1, { group: '' }, head, add);
}

function addSegments(model, head, add) {
	if (model.header.segments.length === 0)
		return;
	head('segments: who has how much', { group: 'segments' });
	model.header.segments.forEach((_, segment) => add(new SegmentLane(model, segment, { group: 'segments', level: 1 })));
}

function addAllocations(model, options, head, add) {
	const { allocations } = model.tables;
	if (allocations.rows === 0)
		return;
	const key = ALLOCATION_ORDERS[options.order](model);
	const direction = options.order === 'as created' ? 1 : -1;
	const rows = Array.from({ length: allocations.rows }, (_, row) => row)
		.sort((a, b) => direction * (key[a] - key[b]) || a - b);
	head(`allocations, ${options.order === 'as created' ? options.order : `most ${options.order} first`}`, { group: 'allocations' });
	for (const row of rows)
		add(new AllocationLane(model, row, { group: 'allocations', level: 1, process: allocations.process[row] - 1 }));
}
