// The lanes, from top to bottom: marks; the nodes of each adapter; hardware queues; for each process its queues, paging
// queues, budget and calls; segments; allocations. A lane draws itself and says what lies at a point.
'use strict';

const ROW = 14;
const BOX = 12;                     // a level of a stack
const STACK_LEVELS = 6;
const CURVE_HEIGHT = 56;
const BOXES_AT_MOST = 1500;         // more of them in a stack are drawn as its height alone

class Lane {
	constructor(model, title, height, about = {}) {
		Object.assign(this, { model, title, height, process: -2, owner: -2, group: '', level: 0, isFolded: false }, about);
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

function stepIn(stretches, select, selection, direction, view) {
	if (stretches.length === 0)
		return null;
	let index = selection === null ? -1 : stretches.rows.findIndex((row) => {
		const { kind, row: found } = select(row);
		return kind === selection.kind && found === selection.row;
	});
	if (index < 0)
		index = direction > 0 ? stretches.range(view.from, view.to)[0] - 1 : stretches.range(view.from, view.to)[1];
	index += direction;
	return index >= 0 && index < stretches.length ? select(stretches.rows[index]) : null;
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
		super(model, title, Math.max(2, Math.min(STACK_LEVELS, stretches.depth)) * BOX + 4, about);
		this.stretches = stretches;
		this.item = item;            // {owner(row), hatch(row), label(row), select(row)}
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
		return y + this.height - 2 - BOX * (Math.min(level, STACK_LEVELS - 1) + 1);
	}

	drawBox(brush, view, y, index, from, to, level) {
		if (level >= STACK_LEVELS)
			return;
		const row = this.stretches.rows[index];
		const x = Math.max(view.left, view.x(from));
		const width = Math.max(1, Math.min(view.right, view.x(to)) - x);
		const hatch = this.item.hatch(row);
		const owner = this.item.owner(row);
		const top = this.boxTop(y, level);
		const wide = width - (width > 3 ? 1 : 0);
		brush.fill(ownerFill(brush, owner), x, top, wide, BOX - 1);
		if (hatch)
			brush.fill(brush.pattern(hatch, '', brush.colours.ink), x, top, wide, BOX - 1);
		if (width > LABEL_ROOM)
			brush.label(this.item.label(row), x, top + BOX / 2, width, ownerColour(owner));
	}

	drawFlat(brush, view, y) {
		eachSeen(this.stretches, view, (index, x, width) =>
			brush.fill(ownerFill(brush, this.item.owner(this.stretches.rows[index])), x, this.boxTop(y, 0), width, BOX - 1));
		const depth = this.depthSeries();
		eachRun(view, (from, to) => Math.min(depth.mostIn(from, to), STACK_LEVELS) - 1, (x, width, levels) => {
			if (levels > 0)
				brush.fill(brush.colours.faint, x, this.boxTop(y, levels), width, BOX * levels - 1);
		});
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
		const level = Math.floor((this.height - 2 - y) / BOX);
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
		return stepIn(this.stretches, this.item.select, selection, direction, view);
	}
}

// Stretches that do not overlap.
class BarLane extends Lane {
	constructor(model, title, stretches, item, about) {
		super(model, title, ROW + 2, about);
		this.stretches = stretches;
		this.item = item;            // {owner(row), hatch(row), label(row), select(row)}
	}

	draw(brush, view, y) {
		eachSeen(this.stretches, view, (index, x, width) => {
			const row = this.stretches.rows[index];
			const owner = this.item.owner(row);
			const hatch = this.item.hatch(row);
			const wide = width - (width > 3 ? 1 : 0);
			brush.fill(ownerFill(brush, owner), x, y + 1, wide, ROW);
			if (hatch)
				brush.fill(brush.pattern(hatch, '', brush.colours.ink), x, y + 1, wide, ROW);
			if (width > LABEL_ROOM)
				brush.label(this.item.label(row), x, y + 1 + ROW / 2, width, ownerColour(owner));
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
		return stepIn(this.stretches, this.item.select, selection, direction, view);
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
			brush.area(brush.colours.mark, x - 4, y + 2, x + 4, y + 2, x, y + ROW);
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

// Bytes of each owner, one on top of the other; the line is the segment's size.
class SegmentLane extends Lane {
	constructor(model, segment, about) {
		super(model, model.segmentName(segment), CURVE_HEIGHT, about);
		this.segment = segment;
		this.size = Math.max(1, model.header.segments[segment].size_bytes);
		// One that is hardly used would show nothing.
		this.most = model.segmentMost[segment] * 4 < this.size ? Math.max(1, model.segmentMost[segment] * 2) : this.size;
	}

	draw(brush, view, y) {
		const scale = (this.height - 6) / this.most;
		const bottom = y + this.height - 2;
		const under = new Float64Array(view.width + 1);
		this.model.segmentSeries[this.segment].forEach((series, index) => {
			if (series.values.length === 0)
				return;
			const owner = index < this.model.ownerCount ? index : -1;
			const fill = ownerFill(brush, owner);
			let x = 0;
			const heights = [];
			eachRun(view, (from) => series.at(from), (_, width, bytes) => {
				for (; width > 0; width--)
					heights[x++] = bytes;
			});
			for (let start = 0; start < heights.length;) {
				let end = start + 1;
				while (end < heights.length && heights[end] === heights[start] && under[end] === under[start])
					end++;
				if (heights[start] > 0)
					brush.fill(fill, view.left + start, bottom - (under[start] + heights[start]) * scale, end - start, heights[start] * scale);
				start = end;
			}
			heights.forEach((bytes, at) => { under[at] += bytes; });
		});
		if (this.most === this.size)
			brush.line(brush.colours.ink, view.left, bottom - this.size * scale, view.right, bottom - this.size * scale);
		this.note = this.most === this.size ? bytesText(this.size) : `of ${bytesText(this.size)}; up to ${bytesText(this.most)}`;
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
		const used = usage ? usage.top : 0, limit = budget ? budget.top : 0;
		this.most = Math.max(1, used * 4 < limit ? used * 2 : Math.max(used, limit));
		this.note = this.most < limit ? `budget ${bytesText(limit)}; up to ${bytesText(this.most)}` : `up to ${bytesText(this.most)}`;
	}

	draw(brush, view, y) {
		const scale = (this.height - 6) / this.most;
		const bottom = y + this.height - 2;
		if (this.usage)
			eachRun(view, (from, to) => this.usage.mostIn(from, to), (x, width, used) =>
				brush.fill(ownerFill(brush, this.model.by === 'process' ? this.process : -1), x, bottom - used * scale, width, used * scale));
		const points = [];
		if (this.budget)
			eachRun(view, (from) => this.budget.at(from), (x, width, limit) => {
				if (limit > 0 && limit <= this.most)
					points.push(x, bottom - limit * scale, x + width, bottom - limit * scale);
			});
		if (points.length > 0)
			brush.line(brush.colours.ink, ...points);
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
		const { id, name, size } = this.model.tables.allocations;
		const said = this.model.text(name[this.allocation]);
		return `${said ? `"${said}" ` : ''}${hexText(id[this.allocation])}  ${bytesText(size[this.allocation])}`;
	}

	draw(brush, view, y) {
		const { model, allocation } = this;
		const { allocations, states } = model.tables;
		const list = model.statesOf(allocation);
		const end = model.endOf(allocation);
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
		const width = Math.min(view.right, view.x(to)) - x;
		if (width < 0)
			return;
		const wide = Math.max(1, width);
		const { colours } = brush;
		if (kind === 'out')
			brush.fill(colours.out, x, y + ROW / 2, wide, 2);
		else if (kind === 'in')
			brush.fill(ownerFill(brush, this.model.allocationOwner(this.allocation)), x, y + 2, wide, ROW - 4);
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
			const width = Math.max(1, Math.min(view.right, view.x(to)) - x);
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
			brush.fill(brush.colours.ink, x, y + 1, Math.max(1, Math.min(view.right, view.x(to)) - x), 1);
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
	'owner': (model) => Float64Array.from({ length: model.tables.allocations.rows }, (_, row) => -model.allocationOwner(row)),
};

function packetItem(model) {
	const { packets } = model.tables;
	return {
		owner: (row) => model.packetOwner(row),
		hatch: (row) => hatchOf(model.text(packets.outcome[row])),
		label: (row) => `${packets.ticket[row]} ${model.text(packets.kind[row])}`,
		select: (row) => ({ kind: 'packet', row }),
	};
}

function runItem(model) {
	const { runs, packets } = model.tables;
	return {
		owner: (row) => model.runOwner(row),
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
		owner: (row) => model.callOwner(row),
		hatch: (row) => ['', 'STATUS_SUCCESS', 'STATUS_PENDING'].includes(model.text(calls.status[row])) ? '' : 'cross',
		label: (row) => model.text(calls.name[row]),
		select: (row) => ({ kind: 'call', row }),
	};
}

function pagingItem(model) {
	const { pagings, calls } = model.tables;
	return {
		owner: (row) => (model.by === 'device' ? pagings.device : pagings.process)[row] - 1,
		hatch: () => '',
		label: (row) => `${pagings.value[row]} ${pagings.call[row] ? model.text(calls.name[pagings.call[row] - 1]) : ''}`,
		select: (row) => ({ kind: 'paging', row }),
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
	addKernel(model, head, add);
	addSegments(model, head, add);
	addAllocations(model, options, head, add);
	return lanes;
}

function addMarks(model, head, add) {
	const { marks } = model.tables;
	if (marks.rows === 0)
		return;
	head('marks: refusals, reports, faults, resets, markers', { group: 'marks' });
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
			{ group: 'hardware queues', level: 1, process: model.header.queues[queue].process, owner: model.queueOwner(queue) }));
}

function addProcess(model, process, head, add) {
	const about = { group: `process ${process}`, process, level: 1 };
	head(model.processName(process), { group: about.group, process });
	addQueues(model, process, about, add);
	for (const { handle, stretches } of model.pagingQueues.filter((queue) => queue.process === process))
		add(new StackLane(model, `paging queue ${hexText(handle)}`, stretches, pagingItem(model), about));
	for (const groupName of ['local', 'non-local']) {
		const find = (kind) => model.header.series.findIndex((one) =>
			one.kind === kind && one.process === process && one.group === groupName);
		const usage = find('usage'), budget = find('budget');
		if (usage >= 0 || budget >= 0)
			add(new BudgetLane(model, `${groupName} memory and budget`, model.series[usage], model.series[budget], about));
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

function addQueues(model, process, about, add) {
	model.header.queues.forEach((queue, index) => {
		if (queue.process === process && queue.kind !== 'hardware queue' && model.queuePackets[index].length > 0)
			add(new StackLane(model, model.queueName(index), model.queuePackets[index], packetItem(model),
				{ ...about, owner: model.queueOwner(index) }));
	});
}

// What it queues by itself, above all paging.
function addKernel(model, head, add) {
	const about = { group: 'kernel', process: -1, level: 1 };
	head('kernel: paging', { group: about.group, process: -1 });
	addQueues(model, -1, about, add);
	addThreads(model, -1, about, head, add);
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
		add(new AllocationLane(model, row, { group: 'allocations', level: 1, process: allocations.process[row] - 1,
			owner: model.allocationOwner(row) }));
}
