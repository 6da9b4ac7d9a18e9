// The page: keys, pointer, selection, and when to draw.
'use strict';

const RULER = 20;

class Page {
	constructor(model) {
		this.model = model;
		this.view = new View(model.length);
		this.brush = new Brush(document.getElementById('canvas'));
		this.selection = null;
		this.lane = 0;               // which the keyboard is in
		this.marked = null;          // [from, to], dragged over
		this.hidden = new Set();     // groups and processes that are not shown
		this.options = { order: 'as created' };
		this.answerState = null;
		this.rebuild();
		this.fillControls();
		this.listen();
		this.follow();
		this.resize();
	}

	// ---- lanes ----

	rebuild() {
		const folded = new Map((this.lanes || []).filter((lane) => lane.isHead).map((lane) => [lane.group, lane.isFolded]));
		this.lanes = buildLanes(this.model, this.options);
		for (const lane of this.lanes) {
			if (lane.isHead && folded.has(lane.group))
				lane.isFolded = folded.get(lane.group);
		}
		this.arrange();
	}

	// What is neither folded away nor filtered, from top to bottom.
	arrange() {
		const folded = new Set(this.lanes.filter((lane) => lane.isHead && lane.isFolded).map((lane) => lane.group));
		this.shown = [];
		let y = 0;
		for (const lane of this.lanes) {
			if (this.isHidden(lane) || (!lane.isHead && folded.has(lane.group)) || (lane.parent && folded.has(lane.parent)))
				continue;
			lane.top = y;
			y += lane.height;
			this.shown.push(lane);
		}
		this.tops = Float64Array.from(this.shown, (lane) => lane.top);
		this.total = y;
		document.getElementById('tall').style.height = `${y + RULER}px`;
		this.lane = Math.min(this.lane, this.shown.length - 1);
		this.draw();
	}

	isHidden(lane) {
		return this.hidden.has(lane.group) || (lane.process >= 0 && this.hidden.has(`process ${lane.process}`));
	}

	get top() {
		return document.getElementById('scroll').scrollTop;
	}

	laneAt(y) {
		const index = lowerBound(this.tops, y - RULER + this.top + 1e-9) - 1;
		const lane = this.shown[index];
		return lane && y >= RULER && y - RULER + this.top < lane.top + lane.height ? lane : null;
	}

	// ---- drawing: at most once a frame ----

	draw() {
		if (this.isDue)
			return;
		this.isDue = true;
		requestAnimationFrame(() => {
			this.isDue = false;
			this.drawNow();
		});
	}

	drawNow() {
		const started = performance.now();
		const { brush, view } = this;
		brush.fill(brush.colours.paper, 0, 0, brush.width, brush.height);
		const first = Math.max(0, lowerBound(this.tops, this.top + 1e-9) - 1);
		for (let i = first; i < this.shown.length; i++) {
			const lane = this.shown[i];
			const y = RULER + lane.top - this.top;
			if (y > brush.height)
				break;
			this.drawLane(lane, i, y);
		}
		this.drawRuler();
		this.drawMarked();
		this.frameMs = performance.now() - started;
		this.frames = (this.frames || 0) + 1;
		document.getElementById('status').textContent = this.statusText();
		view.drawn = true;
	}

	drawLane(lane, index, y) {
		const { brush, view } = this;
		const { context } = brush;
		if (!lane.isHead) {
			context.save();
			context.beginPath();
			context.rect(0, y, view.left + view.width, lane.height);
			context.clip();
			lane.draw(brush, view, y);
			if (lane.title) {
				brush.fill(brush.colours.paper, 0, y, view.left - 4, Math.min(lane.height, ROW + 2));
				context.beginPath();
				context.rect(0, y, view.left - 4, lane.height);
				context.clip();
				brush.text(lane.title, 8 + 12 * lane.level, y + Math.min(lane.height, ROW + 2) / 2);
			}
			context.restore();
		} else {
			lane.draw(brush, view, y);
		}
		brush.line(brush.colours.line, 0, y + lane.height - 0.5, brush.width, y + lane.height - 0.5);
		if (index === this.lane && document.activeElement === document.getElementById('lanes'))
			brush.outline(brush.colours.select, 0, y, view.left - 4, lane.height);
		this.drawSelectionIn(lane, y);
	}

	// The same thing is marked wherever it is shown.
	drawSelectionIn(lane, y) {
		const stretch = this.selection && this.stretchOf(this.selection);
		if (!stretch || lane.isHead)
			return;
		const belongs = lane instanceof AllocationLane
			? this.selection.kind === 'allocation' && lane.allocation === this.selection.row
			: lane.stretches && this.isIn(lane);
		if (!belongs)
			return;
		const { view } = this;
		for (const [from, to] of stretch.in ? stretch.in(lane) : [[stretch.from, stretch.to]]) {
			if (to < view.from || from > view.to)
				continue;
			const x = Math.max(view.left, view.x(from));
			this.brush.outline(this.brush.colours.select, x - 2, y,
				Math.max(5, Math.min(view.left + view.width, view.x(to)) - x + 4), lane.height);
		}
	}

	isIn(lane) {
		const { kind, row } = this.selection;
		const { packets, runs, calls } = this.model.tables;
		if (lane.stretches === this.model.queuePackets[packets.queue[row]] && kind === 'packet')
			return true;
		if (kind === 'packet')
			return this.model.packetRuns[row + 1].some((run) => lane.stretches === this.model.nodeRuns[runs.node[run]]);
		if (kind === 'run')
			return lane.stretches === this.model.nodeRuns[runs.node[row]];
		return kind === 'call' && this.model.threadCalls[calls.thread[row]].some((depth) =>
			depth === lane.stretches && depth.rows.includes(row));
	}

	stretchOf({ kind, row, time }) {
		const { model } = this;
		const { packets, runs, calls, allocations, marks } = model.tables;
		const until = (end) => end < 0 ? model.length : end;
		switch (kind) {
		case 'packet':
			return { from: packets.queued[row], to: until(packets.left[row]), in: (lane) =>
				lane.stretches === model.queuePackets[packets.queue[row]] ? [[packets.queued[row], until(packets.left[row])]]
					: model.packetRuns[row + 1].filter((run) => lane.stretches === model.nodeRuns[runs.node[run]])
						.map((run) => [runs.begin[run], until(runs.end[run])]) };
		case 'run':
			return { from: runs.begin[row], to: until(runs.end[row]) };
		case 'call':
			return { from: calls.begin[row], to: Math.min(model.length, model.callEnds[row]) };
		case 'allocation':
			return { from: allocations.born[row], to: model.endOf(row) };
		case 'mark':
			return { from: marks.time[row], to: marks.time[row] };
		default:
			return time === undefined ? null : { from: time, to: time };
		}
	}

	drawRuler() {
		const { brush, view } = this;
		brush.fill(brush.colours.paper, 0, 0, brush.width, RULER);
		const step = roundStep(view.perPixel * 110);
		for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
			const x = view.x(time);
			brush.line(brush.colours.line, x, RULER - 5, x, brush.height);
			brush.text(timeText(time), x + 3, RULER / 2, brush.colours.faint);
		}
		brush.line(brush.colours.faint, 0, RULER - 0.5, brush.width, RULER - 0.5);
	}

	drawMarked() {
		if (!this.marked)
			return;
		const { brush, view } = this;
		const [from, to] = this.marked;
		brush.context.globalAlpha = 0.2;
		brush.fill(brush.colours.select, view.x(from), RULER, view.x(to) - view.x(from), brush.height);
		brush.context.globalAlpha = 1;
	}

	statusText() {
		const { header } = this.model;
		const parts = [`${timeText(this.view.from)} to ${timeText(this.view.to)}, ${timeText(this.view.to - this.view.from)} of ${timeText(this.model.length)}`,
			`${header.events} events`];
		if (header.is_cut)
			parts.push('the trace has no end: it was cut off');
		if (this.marked)
			parts.push(`marked: ${timeText(this.marked[1] - this.marked[0])}`);
		return parts.join(' · ');
	}

	resize() {
		const box = document.getElementById('lanes').getBoundingClientRect();
		this.view.left = box.width < 600 ? 96 : 200;
		this.view.width = Math.max(50, box.width - this.view.left - 18);
		this.brush.resize(box.width, box.height);
		this.draw();
	}

	// ---- selection ----

	select(selection, isToShow = false) {
		this.selection = selection;
		const side = document.getElementById('details');
		side.replaceChildren(...selection ? describe[selection.kind](this, selection).parts
			: [element('p', 'Select a box, a row or a curve; or ask a question.')]);
		if (selection && isToShow)
			this.bringIntoView(selection);
		this.remember();
		this.draw();
	}

	bringIntoView(selection) {
		const stretch = this.stretchOf(selection);
		if (stretch && (stretch.to < this.view.from || stretch.from > this.view.to)) {
			const half = (this.view.to - this.view.from) / 2;
			this.view.show(stretch.from - half, stretch.from + half);
		}
		const lane = this.shown.find((one) => one instanceof AllocationLane
			? selection.kind === 'allocation' && one.allocation === selection.row
			: one.stretches && this.isIn(one));
		if (lane) {
			const scroll = document.getElementById('scroll');
			const room = this.brush.height - RULER - lane.height;
			if (lane.top < scroll.scrollTop || lane.top > scroll.scrollTop + room)
				scroll.scrollTop = Math.max(0, lane.top - room / 2);
			this.lane = this.shown.indexOf(lane);
		}
	}

	zoomTo(stretch) {
		const edge = Math.max(5, (stretch.to - stretch.from) * 0.1);
		this.view.show(stretch.from - edge, stretch.to + edge);
		this.remember();
		this.draw();
	}

	// ---- deep links: #t=FROM,TO&sel=KIND:ROW&ask=NAME ----

	remember() {
		clearTimeout(this.remembering);
		this.remembering = setTimeout(() => {
			const parts = [`t=${Math.round(this.view.from)},${Math.round(this.view.to)}`];
			if (this.selection)
				parts.push(`sel=${this.selection.kind}:${this.selection.row}${this.selection.time === undefined ? '' : `:${Math.round(this.selection.time)}`}`);
			if (this.answerState)
				parts.push(`ask=${this.answerState}`);
			history.replaceState(null, '', `#${parts.join('&')}`);
		}, 150);
	}

	follow() {
		const wanted = new URLSearchParams(location.hash.slice(1));
		const [from, to] = (wanted.get('t') || '').split(',').map(Number);
		if (to > from)
			this.view.show(from, to);
		const [kind, row, time] = (wanted.get('sel') || '').split(':');
		const rows = { packet: 'packets', run: 'runs', call: 'calls', allocation: 'allocations', mark: 'marks' }[kind];
		if (rows && Number(row) >= 0 && Number(row) < this.model.tables[rows].rows)
			this.select({ kind, row: Number(row), time: time === undefined ? undefined : Number(time) }, !(to > from));
		if (questions[wanted.get('ask')])
			this.ask(wanted.get('ask'), {});
	}

	// ---- questions, search, filters ----

	ask(name, about) {
		this.answerState = name;
		this.answerTable = questions[name].answer(this.model, about);
		this.showAnswer(questions[name].title, this.answerTable);
		this.remember();
	}

	showAnswer(title, table) {
		const parts = [element('h2', title)];
		if (table.rows.length === 0)
			parts.push(element('p', 'Nothing.'));
		else
			parts.push(tableElement(this, table), button('as CSV', () => saveText('answer.csv', csvText(table))));
		document.getElementById('answer').replaceChildren(...parts);
	}

	showMap(segment = 0, time = (this.view.from + this.view.to) / 2) {
		document.getElementById('answer').replaceChildren(...addressMap(this, segment, time));
	}

	fillControls() {
		document.getElementById('title').textContent = this.model.header.title;
		document.title = `${this.model.header.title} – opendxgk trace`;
		const order = document.getElementById('order');
		for (const name of Object.keys(ALLOCATION_ORDERS))
			order.append(element('option', name));
		order.addEventListener('change', () => {
			this.options.order = order.value;
			this.rebuild();
		});
		for (const [name, question] of Object.entries(questions)) {
			const made = button(question.title, () => this.ask(name, {}));
			made.dataset.question = name;
			document.getElementById('questions').append(made);
		}
		const list = document.getElementById('filter-list');
		for (const lane of this.lanes.filter((one) => one.isHead)) {
			const box = element('input', null, { type: 'checkbox', checked: true });
			const label = element('label');
			label.append(box, ` ${lane.title}`);
			box.addEventListener('change', () => {
				this.hidden[box.checked ? 'delete' : 'add'](lane.group);
				this.arrange();
			});
			list.append(label);
		}
		document.getElementById('map-button').addEventListener('click', () => this.showMap());
		document.getElementById('help-button').addEventListener('click', (event) => {
			const help = document.getElementById('help');
			help.hidden = !help.hidden;
			event.target.setAttribute('aria-expanded', String(!help.hidden));
		});
		document.getElementById('search').addEventListener('submit', (event) => {
			event.preventDefault();
			const words = document.getElementById('words').value;
			if (words.trim() !== '')
				this.showAnswer(`found for "${words}"`, find(this.model, words));
		});
	}

	// ---- keys and pointer ----

	listen() {
		const lanes = document.getElementById('lanes');
		window.addEventListener('resize', () => this.resize());
		new ResizeObserver(() => this.resize()).observe(lanes);
		document.getElementById('scroll').addEventListener('scroll', () => this.draw());
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
			this.brush.readTheme();
			this.draw();
		});
		window.addEventListener('hashchange', () => this.follow());
		lanes.addEventListener('wheel', (event) => this.onWheel(event), { passive: false });
		lanes.addEventListener('pointerdown', (event) => this.onDown(event));
		lanes.addEventListener('pointermove', (event) => this.onMove(event));
		lanes.addEventListener('pointerup', (event) => this.onUp(event));
		lanes.addEventListener('focus', () => this.draw());
		lanes.addEventListener('blur', () => this.draw());
		document.addEventListener('keydown', (event) => this.onKey(event));
	}

	onWheel(event) {
		if (event.target.closest('#scroll') && !event.ctrlKey && event.deltaX === 0)
			return;
		event.preventDefault();
		const box = this.brush.canvas.getBoundingClientRect();
		if (event.ctrlKey || event.metaKey)
			this.view.zoom(Math.exp(event.deltaY * 0.002), this.view.time(event.clientX - box.left));
		else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey)
			this.view.pan((event.deltaX || event.deltaY) / this.view.width);
		else
			document.getElementById('scroll').scrollTop += event.deltaY;
		this.remember();
		this.draw();
	}

	pointAt(event) {
		const box = this.brush.canvas.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top };
	}

	onDown(event) {
		if (event.target.closest('#scroll'))
			return;
		const point = this.pointAt(event);
		this.drag = { ...point, from: this.view.from, to: this.view.to, scroll: this.top, isMark: event.shiftKey, hasMoved: false };
		event.currentTarget.setPointerCapture(event.pointerId);
	}

	onMove(event) {
		const point = this.pointAt(event);
		document.getElementById('pointer').textContent = point.x > this.view.left ? timeText(this.view.time(point.x)) : '';
		if (!this.drag)
			return;
		if (Math.abs(point.x - this.drag.x) + Math.abs(point.y - this.drag.y) > 3)
			this.drag.hasMoved = true;
		if (!this.drag.hasMoved)
			return;
		if (this.drag.isMark) {
			const ends = [this.view.time(this.drag.x), this.view.time(point.x)].sort((a, b) => a - b);
			this.marked = ends;
		} else {
			const by = (this.drag.x - point.x) * (this.drag.to - this.drag.from) / this.view.width;
			this.view.show(this.drag.from + by, this.drag.to + by);
			document.getElementById('scroll').scrollTop = this.drag.scroll + this.drag.y - point.y;
		}
		this.draw();
	}

	onUp(event) {
		const { drag } = this;
		this.drag = null;
		if (!drag || drag.hasMoved) {
			this.remember();
			return;
		}
		this.click(this.pointAt(event));
	}

	click({ x, y }) {
		const lane = this.laneAt(y);
		if (!lane)
			return;
		this.lane = this.shown.indexOf(lane);
		if (lane.isHead)
			this.fold(lane);
		else if (x < this.view.left && lane instanceof AllocationLane)
			this.select({ kind: 'allocation', row: lane.allocation });
		else if (x >= this.view.left)
			this.select(lane.hit(this.view.time(x), y - RULER + this.top - lane.top, this.view));
	}

	fold(lane) {
		lane.isFolded = !lane.isFolded;
		this.arrange();
	}

	onKey(event) {
		const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
		const key = event.ctrlKey || event.metaKey ? `ctrl-${event.key.toLowerCase()}` : event.key;
		const action = keys[key];
		if (!action || (isTyping && !['ctrl-f', 'Escape'].includes(key)) || event.altKey)
			return;
		if ((key === 'Enter' || key === 'ArrowUp' || key === 'ArrowDown') && event.target.id !== 'lanes')
			return;
		event.preventDefault();
		action(this);
		this.remember();
		this.draw();
	}

	chooseLane(direction) {
		this.lane = Math.min(Math.max(this.lane + direction, 0), this.shown.length - 1);
		const lane = this.shown[this.lane];
		const scroll = document.getElementById('scroll');
		if (lane.top < scroll.scrollTop)
			scroll.scrollTop = lane.top;
		else if (lane.top + lane.height > scroll.scrollTop + this.brush.height - RULER)
			scroll.scrollTop = lane.top + lane.height - this.brush.height + RULER;
		document.getElementById('pointer').textContent = lane.title || lane.name;
	}

	stepInLane(direction) {
		const lane = this.shown[this.lane];
		const next = lane && lane.step(this.selection, direction, this.view);
		if (next)
			this.select(next, true);
	}
}

// As in GPUView, where it has one.
const keys = {
	a: (page) => page.view.zoom(0.5),
	s: (page) => page.view.zoom(0.1),
	z: (page) => page.view.zoom(2),
	x: (page) => page.view.zoom(10),
	'ctrl-h': (page) => page.view.show(0, page.model.length),
	Home: (page) => page.view.show(0, page.model.length),
	'ctrl-z': (page) => {
		if (page.marked)
			page.view.show(...page.marked);
		page.marked = null;
	},
	ArrowLeft: (page) => page.view.pan(-0.1),
	ArrowRight: (page) => page.view.pan(0.1),
	PageUp: (page) => { document.getElementById('scroll').scrollTop -= page.brush.height * 0.8; },
	PageDown: (page) => { document.getElementById('scroll').scrollTop += page.brush.height * 0.8; },
	ArrowUp: (page) => page.chooseLane(-1),
	ArrowDown: (page) => page.chooseLane(1),
	Enter: (page) => {
		const lane = page.shown[page.lane];
		if (lane && lane.isHead)
			page.fold(lane);
		else
			page.stepInLane(1);
	},
	n: (page) => page.stepInLane(1),
	p: (page) => page.stepInLane(-1),
	f: (page) => {
		const stretch = page.selection && page.stretchOf(page.selection);
		if (stretch)
			page.zoomTo(stretch);
	},
	'ctrl-f': () => document.getElementById('words').focus(),
	'/': () => document.getElementById('words').focus(),
	Escape: (page) => {
		page.marked = null;
		page.select(null);
		document.getElementById('lanes').focus();
	},
};

// 1, 2 or 5 times a power of ten, at least `least`.
function roundStep(least) {
	const power = 10 ** Math.floor(Math.log10(least));
	return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least) || 10 * power;
}

function csvText({ columns, rows }) {
	const quote = (cell) => `"${String(cell !== null && typeof cell === 'object' ? cell.text : cell ?? '').replaceAll('"', '""')}"`;
	return [columns, ...rows].map((row) => row.map(quote).join(',')).join('\n') + '\n';
}

function saveText(name, text) {
	const link = element('a', null, { href: URL.createObjectURL(new Blob([text], { type: 'text/csv' })), download: name });
	link.click();
	URL.revokeObjectURL(link.href);
}

// ---- a segment at one moment, to scale ----

const MAP_ROWS = 64;

function addressMap(page, segment, time) {
	const { model } = page;
	const { ranges } = model.tables;
	const size = model.header.segments[segment]?.size_bytes || 0;
	const there = [];
	for (let row = 0; row < ranges.rows; row++) {
		if (ranges.segment[row] - 1 === segment && ranges.begin[row] <= time && (ranges.end[row] < 0 || ranges.end[row] > time))
			there.push(row);
	}
	there.sort((a, b) => ranges.offset[a] - ranges.offset[b]);
	const choice = element('select');
	model.header.segments.forEach((_, index) => choice.append(element('option', model.segmentName(index), { value: index, selected: index === segment })));
	choice.addEventListener('change', () => page.showMap(Number(choice.value), time));
	if (size === 0 || ranges.rows === 0)
		return [element('h2', 'address map'), element('p', 'This trace does not tell where in a segment allocations are.')];
	const canvas = element('canvas', null, { id: 'map', width: 340 * 2, height: MAP_ROWS * 6 * 2 });
	drawMap(canvas, page, there, size);
	canvas.addEventListener('click', (event) => {
		const box = canvas.getBoundingClientRect();
		const row = Math.floor((event.clientY - box.top) / box.height * MAP_ROWS);
		const offset = (row + (event.clientX - box.left) / box.width) / MAP_ROWS * size;
		const hit = there.find((range) => ranges.offset[range] <= offset && offset < ranges.offset[range] + ranges.bytes[range]);
		if (hit !== undefined)
			page.select({ kind: 'allocation', row: ranges.allocation[hit], time });
	});
	const rows = [];
	let at = 0;
	for (const range of there) {
		if (ranges.offset[range] > at)
			rows.push([hexText(at), bytesText(ranges.offset[range] - at), 'free']);
		rows.push([hexText(ranges.offset[range]), bytesText(ranges.bytes[range]), cells.allocation(model, ranges.allocation[range])]);
		at = Math.max(at, ranges.offset[range] + ranges.bytes[range]);
	}
	if (at < size)
		rows.push([hexText(at), bytesText(size - at), 'free']);
	return [element('h2', `address map at ${timeText(time)}`), choice, canvas, tableElement(page, { columns: ['offset', 'bytes', 'what'], rows })];
}

// Row by row, as text is read.
function drawMap(canvas, page, there, size) {
	const { ranges, allocations } = page.model.tables;
	const context = canvas.getContext('2d');
	const high = canvas.height / MAP_ROWS;
	context.fillStyle = page.brush.colours.band;
	context.fillRect(0, 0, canvas.width, canvas.height);
	for (const range of there) {
		const from = ranges.offset[range] / size * MAP_ROWS;
		const to = (ranges.offset[range] + ranges.bytes[range]) / size * MAP_ROWS;
		context.fillStyle = processColour(allocations.process[ranges.allocation[range]] - 1);
		for (let row = Math.floor(from); row < to; row++) {
			const left = Math.max(0, from - row) * canvas.width;
			const right = Math.min(1, to - row) * canvas.width;
			context.fillRect(left, row * high, Math.max(1, right - left - 1), high - 1);
		}
	}
}

async function start() {
	try {
		const data = document.getElementById('data');
		const bytes = await unpack(data.textContent.trim());
		data.remove();
		window.page = new Page(new Model(readPage(bytes)));
		document.getElementById('lanes').focus();
	} catch (problem) {
		document.getElementById('status').textContent = `This page cannot be shown: ${problem.message}`;
		throw problem;
	}
}

start();
