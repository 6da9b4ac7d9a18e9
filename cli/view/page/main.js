// The page: keys, pointer, selection, and when to draw.
'use strict';

const RULER = 20;
const OWNERS_LISTED = 12;

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
		this.mapState = null;        // {segment, time} of the address map, while it is shown
		this.cursor = null;          // where the pointer is, in time
		this.fingers = new Map();
		this.followOptions();
		this.rebuild();
		this.fillControls();
		this.fillLegend();
		this.select(null);
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
		return this.hidden.has(lane.group) || this.hidden.has(lane.parent) || this.hidden.has(`owner ${lane.owner}`) || (lane.process >= 0 && this.hidden.has(`process ${lane.process}`));
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
		this.drawOn(this.brush);
		this.frameMs = performance.now() - started;
		this.frames = (this.frames || 0) + 1;
		this.firstMs = this.firstMs || performance.now();   // since the page was asked for
		document.getElementById('status').textContent = this.statusText();
	}

	drawOn(brush) {
		brush.fill(brush.colours.paper, 0, 0, brush.width, brush.height);
		this.drawGrid(brush);
		this.anchors = [];
		const first = Math.max(0, lowerBound(this.tops, this.top + 1e-9) - 1);
		for (let i = first; i < this.shown.length; i++) {
			const lane = this.shown[i];
			const y = RULER + lane.top - this.top;
			if (y > brush.height)
				break;
			this.drawLane(brush, lane, i, y);
		}
		this.drawArrows(brush);
		this.drawRuler(brush);
		this.drawMoments(brush);
	}

	drawLane(brush, lane, index, y) {
		const { view } = this;
		if (lane.isHead) {
			lane.draw(brush, view, y);
		} else {
			brush.within(view.left, y, view.width, lane.height, () => lane.draw(brush, view, y));
			brush.within(0, y, view.left - 4, lane.height, () => this.drawTitle(brush, lane, y));
		}
		brush.line(brush.colours.line, 0, y + lane.height - 0.5, brush.width, y + lane.height - 0.5);
		if (index === this.lane && document.activeElement === document.getElementById('lanes') && brush === this.brush)
			brush.outline(brush.colours.select, 0, y, lane.isHead ? view.right : view.left - 4, lane.height);
		this.drawSelectionIn(brush, lane, y);
	}

	// What of a title does not fit beside its lane is below, where the lane has room: its number is what tells it from others.
	titleLines(lane) {
		const letters = Math.floor((this.view.left - 12 - 10 * lane.level) / LETTER);
		const title = lane.title || lane.name || '';
		const space = title.lastIndexOf(' ', letters);
		return title.length <= letters || space <= 0 || lane.height < 2 * ROW ? [title] : [title.slice(0, space), title.slice(space + 1)];
	}

	drawTitle(brush, lane, y) {
		const x = 8 + 10 * lane.level;
		const lines = this.titleLines(lane);
		lines.forEach((line, i) => brush.text(line, x, y + Math.min(lane.height, ROW + 2) / 2 + (ROW - 2) * i));
		if (lane.note)
			brush.text(lane.note, x, y + ROW + 8 + (ROW - 2) * (lines.length - 1), brush.colours.faint);
	}

	// The same thing is marked wherever it is shown.
	drawSelectionIn(brush, lane, y) {
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
			brush.outline(brush.colours.select, x - 2, y, Math.max(5, Math.min(view.right, view.x(to)) - x + 4), lane.height);
			if (!(lane instanceof AllocationLane))
				this.anchors.push({ x, from, y, bottom: y + lane.height });
		}
	}

	// From call to queue to node; from an allocation that left to the one that got its room.
	drawArrows(brush) {
		const { select } = brush.colours;
		const { view } = this;
		this.anchors.sort((a, b) => a.from - b.from);
		for (let i = 1; i < this.anchors.length; i++) {
			const [one, other] = [this.anchors[i - 1], this.anchors[i]];
			const isUp = other.y < one.y;
			this.drawArrow(brush, select, one.x, isUp ? one.y : one.bottom, other.x, isUp ? other.bottom : other.y);
		}
		if (!this.selection || this.selection.kind !== 'allocation')
			return;
		const { states } = this.model.tables;
		const rowOf = new Map(this.shown.flatMap((lane) => lane instanceof AllocationLane ? [[lane.allocation, lane.top + RULER - this.top + ROW / 2]] : []));
		const draw = (from, to, time) => {
			if (rowOf.has(from) && rowOf.has(to) && time >= view.from && time <= view.to)
				this.drawArrow(brush, select, view.x(time), rowOf.get(from), view.x(time), rowOf.get(to));
		};
		for (const state of this.model.statesOf(this.selection.row)) {
			if (states.for[state] > 0)
				draw(this.selection.row, states.for[state] - 1, states.time[state]);
		}
		for (const state of this.model.victimsOf(this.selection.row).slice(0, 200))
			draw(states.allocation[state], this.selection.row, states.time[state]);
	}

	drawArrow(brush, colour, x0, y0, x1, y1) {
		const down = y1 >= y0 ? 1 : -1;
		brush.line(colour, x0, y0, x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
		brush.area(colour, x1, y1, x1 - 3, y1 - 6 * down, x1 + 3, y1 - 6 * down);
	}

	isIn(lane) {
		const { kind, row } = this.selection;
		const { packets, runs } = this.model.tables;
		if (lane.stretches === this.model.queuePackets[packets.queue[row]] && kind === 'packet')
			return true;
		if (kind === 'packet')
			return this.model.packetRuns[row + 1].some((run) => lane.stretches === this.model.nodeRuns[runs.node[run]]) ||
				this.isOfCall(lane, packets.call[row] - 1);
		if (kind === 'run')
			return lane.stretches === this.model.nodeRuns[runs.node[row]];
		if (kind === 'paging')
			return this.model.pagingQueues.some((queue) => queue.stretches === lane.stretches) &&
				lane.stretches.indexOf(row, this.model.tables.pagings.begin[row]) >= 0;
		return kind === 'call' && this.isOfCall(lane, row);
	}

	isOfCall(lane, call) {
		const { thread, begin } = this.model.tables.calls;
		return call >= 0 && this.model.threadCalls[thread[call]].includes(lane.stretches) && lane.stretches.indexOf(call, begin[call]) >= 0;
	}

	stretchOf({ kind, row, time }) {
		const { model } = this;
		const { packets, runs, calls, allocations, marks, pagings } = model.tables;
		const until = (end) => end < 0 ? model.length : end;
		switch (kind) {
		case 'packet':
			return { from: packets.queued[row], to: until(packets.left[row]), in: (lane) =>
				lane.stretches === model.queuePackets[packets.queue[row]] ? [[packets.queued[row], until(packets.left[row])]]
					: this.isOfCall(lane, packets.call[row] - 1) ? [[calls.begin[packets.call[row] - 1], Math.min(model.length, model.callEnds[packets.call[row] - 1])]]
					: model.packetRuns[row + 1].filter((run) => lane.stretches === model.nodeRuns[runs.node[run]])
						.map((run) => [runs.begin[run], until(runs.end[run])]) };
		case 'run':
			return { from: runs.begin[row], to: until(runs.end[row]) };
		case 'paging':
			return { from: pagings.begin[row], to: until(pagings.end[row]) };
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

	eachTick(draw) {
		const { view } = this;
		const step = roundStep(view.perPixel * 110);
		for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step)
			draw(time, view.x(time));
	}

	drawGrid(brush) {
		this.eachTick((_, x) => brush.line(brush.colours.line, x, RULER, x, brush.height));
	}

	drawRuler(brush) {
		brush.fill(brush.colours.paper, 0, 0, brush.width, RULER);
		this.eachTick((time, x) => {
			brush.line(brush.colours.faint, x, RULER - 5, x, RULER);
			brush.text(timeText(time).replace(/\.0+ |(\.\d*?[1-9])0+ /, '$1 '), x + 3, RULER / 2, brush.colours.faint);
		});
		brush.line(brush.colours.faint, 0, RULER - 0.5, brush.width, RULER - 0.5);
	}

	// What was dragged over, where the pointer is, and of when the map is.
	drawMoments(brush) {
		const { view } = this;
		if (this.marked) {
			const [from, to] = this.marked.map((time) => Math.min(Math.max(view.x(time), view.left), view.right));
			brush.shade(brush.colours.select, from, 0, to - from, brush.height);
		}
		const line = (time, colour) => {
			if (time !== null && time >= view.from && time <= view.to)
				brush.line(colour, view.x(time), 0, view.x(time), brush.height);
		};
		line(this.mapState ? this.mapState.time : null, brush.colours.mark);
		line(brush === this.brush ? this.cursor : null, brush.colours.faint);
	}

	// The timeline as it is shown, as an SVG file.
	toSvg() {
		const brush = new SvgBrush(Math.round(this.brush.width), Math.round(this.brush.height), this.brush.colours);
		this.drawOn(brush);
		return brush.toString();
	}

	statusText() {
		const { header } = this.model;
		const parts = [`${timeText(this.view.from)} to ${timeText(this.view.to)}, ${timeText(this.view.to - this.view.from)} of ${timeText(this.model.length)}`,
			`${header.events} events`];
		if (header.is_cut)
			parts.push('the trace has no end: it was cut off');
		if (this.marked)
			parts.push(`marked: ${timeText(this.marked[1] - this.marked[0])} from ${timeText(this.marked[0])}, Ctrl+Z zooms to it`);
		return parts.join(' · ');
	}

	resize() {
		const box = document.getElementById('lanes').getBoundingClientRect();
		this.view.left = box.width < 600 ? 130 : 200;
		this.view.width = Math.max(50, box.width - this.view.left - 18);
		this.brush.resize(box.width, box.height);
		this.draw();
	}

	// ---- selection ----

	select(selection, isToShow = false) {
		this.selection = selection;
		const side = document.getElementById('details');
		side.replaceChildren(...selection ? describe[selection.kind](this, selection).parts : overview(this));
		if (selection && isToShow)
			this.bringIntoView(selection);
		this.remember();
		this.draw();
	}

	bringIntoView(selection) {
		const stretch = this.stretchOf(selection);
		this.unfoldFor(selection);
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

	// What is folded away cannot be seen.
	unfoldFor({ kind, row }) {
		const has = (lane) => lane instanceof AllocationLane ? kind === 'allocation' && lane.allocation === row
			: Boolean(lane.stretches) && this.isIn(lane);
		if (this.shown.some(has))
			return;
		const found = this.lanes.find((lane) => !lane.isHead && has(lane));
		const heads = found ? this.lanes.filter((lane) => lane.isHead && lane.isFolded && [found.group, found.parent].includes(lane.group)) : [];
		heads.forEach((head) => { head.isFolded = false; });
		if (heads.length > 0)
			this.arrange();
	}

	zoomTo(stretch) {
		const edge = Math.max(5, (stretch.to - stretch.from) * 0.1);
		this.view.show(stretch.from - edge, stretch.to + edge);
		this.remember();
		this.draw();
	}

	// ---- deep links: #t=FROM,TO&sel=KIND:ROW:TIME&ask=NAME&map=SEGMENT:TIME&order=NAME&by=OWNER&hide=GROUP,GROUP ----

	remember() {
		clearTimeout(this.remembering);
		this.remembering = setTimeout(() => {
			const parts = [`t=${Math.round(this.view.from)},${Math.round(this.view.to)}`];
			if (this.selection)
				parts.push(`sel=${this.selection.kind}:${this.selection.row}${this.selection.time === undefined ? '' : `:${Math.round(this.selection.time)}`}`);
			if (this.answerState)
				parts.push(`ask=${this.answerState}`);
			if (this.mapState)
				parts.push(`map=${this.mapState.segment}:${Math.round(this.mapState.time)}`);
			if (this.options.order !== 'as created')
				parts.push(`order=${encodeURIComponent(this.options.order)}`);
			if (this.isOwnerChosen)
				parts.push(`by=${this.model.by}`);
			if (this.hidden.size > 0)
				parts.push(`hide=${[...this.hidden].map(encodeURIComponent).join(',')}`);
			history.replaceState(null, '', `#${parts.join('&')}`);
		}, 150);
	}

	// What has to be known before there are lanes.
	followOptions() {
		const wanted = new URLSearchParams(location.hash.slice(1));
		if (ALLOCATION_ORDERS[wanted.get('order')])
			this.options.order = wanted.get('order');
		this.hidden = new Set((wanted.get('hide') || '').split(',').filter((group) => group !== ''));
		if (['process', 'device'].includes(wanted.get('by')) && wanted.get('by') !== this.model.by) {
			this.isOwnerChosen = true;
			this.model.setOwners(wanted.get('by'));
		}
	}

	follow() {
		const wanted = new URLSearchParams(location.hash.slice(1));
		const [from, to] = (wanted.get('t') || '').split(',').map(Number);
		if (to > from)
			this.view.show(from, to);
		const [kind, row, time] = (wanted.get('sel') || '').split(':');
		const rows = { packet: 'packets', run: 'runs', call: 'calls', allocation: 'allocations', mark: 'marks', paging: 'pagings',
			segment: 'segments', budget: 'processes' }[kind];
		if (rows && Number(row) >= 0 && Number(row) < this.model.tables[rows].rows)
			this.select({ kind, row: Number(row), time: time === undefined ? undefined : Number(time) }, !(to > from));
		if (questions[wanted.get('ask')])
			this.ask(wanted.get('ask'), {});
		const [segment, moment] = (wanted.get('map') || '').split(':').map(Number);
		if (this.model.header.segments[segment] && moment >= 0 && moment <= this.model.length)
			this.showMap(segment, moment);
	}

	// ---- questions, search, filters ----

	ask(name, about) {
		this.answerState = name;
		this.mapState = null;
		this.answerTable = questions[name].answer(this.model, about);
		this.showAnswer(questions[name].title, this.answerTable);
		this.remember();
	}

	showAnswer(title, table) {
		const parts = [element('h2', title)];
		if (table.rows.length === 0)
			parts.push(element('p', 'Nothing.'));
		else
			parts.push(tableElement(this, table), button('as CSV', () => saveText('answer.csv', csvText(table), 'text/csv')));
		parts.push(button('close', () => this.closeAnswer()));
		document.getElementById('answer').replaceChildren(...parts);
		document.getElementById('answer').scrollIntoView({ block: 'start' });
	}

	closeAnswer() {
		this.answerState = this.mapState = null;
		document.getElementById('answer').replaceChildren();
		this.remember();
		this.draw();
	}

	// Of the moment that is selected, or where the pointer is, or in the middle.
	showMap(segment = this.mapState ? this.mapState.segment : 0, time = this.selection?.time ?? this.cursor ?? (this.view.from + this.view.to) / 2) {
		this.answerState = null;
		this.mapState = { segment, time };
		document.getElementById('answer').replaceChildren(...addressMap(this, segment, time), button('close', () => this.closeAnswer()));
		this.remember();
		this.draw();
	}

	fillControls() {
		document.getElementById('title').textContent = this.model.header.title;
		document.title = `${this.model.header.title} – opendxgk trace`;
		const order = document.getElementById('order');
		for (const name of Object.keys(ALLOCATION_ORDERS))
			order.append(element('option', name));
		order.value = this.options.order;
		order.addEventListener('change', () => {
			this.options.order = order.value;
			this.rebuild();
			this.remember();
		});
		const owners = document.getElementById('owners');
		owners.value = this.model.by;
		owners.addEventListener('change', () => {
			this.isOwnerChosen = true;
			this.model.setOwners(owners.value);
			this.hidden = new Set([...this.hidden].filter((name) => !name.startsWith('owner ')));
			this.rebuild();
			this.fillLegend();
			this.remember();
		});
		for (const [name, question] of Object.entries(questions)) {
			const made = button(question.title, () => this.ask(name, {}));
			made.dataset.question = name;
			document.getElementById('questions').append(made);
		}
		const list = document.getElementById('filter-list');
		for (const lane of this.lanes.filter((one) => one.isHead)) {
			const box = element('input', null, { type: 'checkbox', checked: !this.hidden.has(lane.group) });
			const label = element('label');
			label.append(box, ` ${lane.title}`);
			box.addEventListener('change', () => {
				this.hidden[box.checked ? 'delete' : 'add'](lane.group);
				this.arrange();
				this.remember();
			});
			list.append(label);
		}
		document.getElementById('map-button').addEventListener('click', () => this.showMap());
		document.getElementById('help-button').addEventListener('click', () => this.toggleHelp());
		document.getElementById('svg-button').addEventListener('click', () => saveText('timeline.svg', this.toSvg(), 'image/svg+xml'));
		document.getElementById('search').addEventListener('submit', (event) => {
			event.preventDefault();
			const words = document.getElementById('words').value;
			if (words.trim() !== '')
				this.showAnswer(`found for "${words}"`, find(this.model, words));
		});
	}

	toggleHelp(isHidden = !document.getElementById('help').hidden) {
		document.getElementById('help').hidden = isHidden;
		document.getElementById('help-button').setAttribute('aria-expanded', String(!isHidden));
	}

	// Whose is what, as buttons that hide and show it; and what the bars of allocations mean.
	fillLegend() {
		const legend = document.getElementById('legend');
		const { brush, model } = this;
		const parts = [];
		for (let owner = 0; owner < Math.min(model.ownerCount, OWNERS_LISTED); owner++) {
			const name = `owner ${owner}`;
			const made = button('', () => {
				this.hidden[this.hidden.has(name) ? 'delete' : 'add'](name);
				made.setAttribute('aria-pressed', String(!this.hidden.has(name)));
				this.arrange();
				this.remember();
			});
			made.setAttribute('aria-pressed', String(!this.hidden.has(name)));
			made.title = 'hide or show its queues and allocations';
			made.append(brush.swatch((tile) => tile.fill(ownerFill(tile, owner), 0, 2, 24, 10)), model.ownerName(owner));
			parts.push(made);
		}
		if (model.ownerCount > OWNERS_LISTED)
			parts.push(element('span', `and ${model.ownerCount - OWNERS_LISTED} more`));
		const { colours } = brush;
		const states = {
			kernel: (tile) => tile.fill(ownerFill(tile, -1), 0, 2, 24, 10),
			out: (tile) => tile.fill(colours.out, 0, 7, 24, 2),
			'coming in': (tile) => tile.fill(tile.pattern('up', colours.moving), 0, 2, 24, 10),
			'going out': (tile) => tile.fill(tile.pattern('down', colours.moving), 0, 2, 24, 10),
			offered: (tile) => tile.fill(tile.pattern('dots', colours.offered), 0, 5, 24, 4),
			discarded: (tile) => tile.fill(tile.pattern('cross', colours.lost), 0, 5, 24, 4),
			locked: (tile) => tile.fill(colours.ink, 0, 3, 24, 1),
			preempted: (tile) => { tile.fill(colours.out, 0, 2, 24, 10); tile.fill(tile.pattern('up', '', colours.ink), 0, 2, 24, 10); },
			failed: (tile) => { tile.fill(colours.out, 0, 2, 24, 10); tile.fill(tile.pattern('cross', '', colours.ink), 0, 2, 24, 10); },
		};
		for (const [name, draw] of Object.entries(states)) {
			const entry = element('span');
			entry.append(brush.swatch(draw), name);
			parts.push(entry);
		}
		legend.replaceChildren(...parts);
	}

	// ---- keys and pointer ----

	listen() {
		const lanes = document.getElementById('lanes');
		window.addEventListener('resize', () => this.resize());
		new ResizeObserver(() => this.resize()).observe(lanes);
		document.getElementById('scroll').addEventListener('scroll', () => this.draw());
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
			this.brush.readTheme();
			this.fillLegend();
			this.draw();
		});
		window.addEventListener('hashchange', () => this.follow());
		lanes.addEventListener('wheel', (event) => this.onWheel(event), { passive: false });
		lanes.addEventListener('pointerdown', (event) => this.onDown(event));
		lanes.addEventListener('pointermove', (event) => this.onMove(event));
		lanes.addEventListener('pointerup', (event) => this.onUp(event));
		lanes.addEventListener('pointercancel', (event) => this.onUp(event));
		lanes.addEventListener('pointerleave', () => this.moveCursor(null));
		lanes.addEventListener('dblclick', () => keys.f(this));
		this.listenToSplitter();
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

	// The border between lanes and panel, by pointer and by keys.
	listenToSplitter() {
		const splitter = document.getElementById('splitter');
		const side = document.getElementById('side');
		const set = (width) => {
			side.style.width = `${Math.min(Math.max(width, 200), innerWidth - 260)}px`;
		};
		splitter.addEventListener('pointerdown', (event) => splitter.setPointerCapture(event.pointerId));
		splitter.addEventListener('pointermove', (event) => {
			if (splitter.hasPointerCapture(event.pointerId))
				set(innerWidth - event.clientX);
		});
		splitter.addEventListener('keydown', (event) => {
			const by = { ArrowLeft: 40, ArrowRight: -40 }[event.key];
			if (by) {
				set(side.getBoundingClientRect().width + by);
				event.stopPropagation();
			}
		});
	}

	moveCursor(time) {
		this.cursor = time;
		document.getElementById('pointer').textContent = time === null ? '' : timeText(time);
		this.draw();
	}

	pointAt(event) {
		const box = this.brush.canvas.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top };
	}

	// One finger or button pans, and marks in the ruler or with Shift; two fingers zoom.
	onDown(event) {
		if (event.target.closest('#scroll'))
			return;
		const point = this.pointAt(event);
		this.fingers.set(event.pointerId, point);
		this.drag = { ...point, from: this.view.from, to: this.view.to, scroll: this.top, isMark: event.shiftKey || point.y < RULER,
			hasMoved: this.fingers.size > 1, apart: this.fingersApart() };
		event.currentTarget.setPointerCapture(event.pointerId);
	}

	fingersApart() {
		const [one, other] = [...this.fingers.values()].map((point) => point.x);
		return other === undefined ? 0 : Math.max(20, Math.abs(one - other));
	}

	onMove(event) {
		const point = this.pointAt(event);
		this.moveCursor(point.x > this.view.left && point.x < this.view.right ? this.view.time(point.x) : null);
		if (!this.drag)
			return;
		this.fingers.set(event.pointerId, point);
		if (Math.abs(point.x - this.drag.x) + Math.abs(point.y - this.drag.y) > 3)
			this.drag.hasMoved = true;
		if (!this.drag.hasMoved)
			return;
		if (this.drag.apart > 0)
			this.pinch();
		else if (this.drag.isMark)
			this.marked = [this.view.time(this.drag.x), this.view.time(point.x)].sort((a, b) => a - b);
		else {
			const by = (this.drag.x - point.x) * (this.drag.to - this.drag.from) / this.view.width;
			this.view.show(this.drag.from + by, this.drag.to + by);
			document.getElementById('scroll').scrollTop = this.drag.scroll + this.drag.y - point.y;
		}
		this.draw();
	}

	pinch() {
		const [one, other] = [...this.fingers.values()].map((point) => point.x);
		const { from, to, apart } = this.drag;
		const centre = from + ((one + other) / 2 - this.view.left) * (to - from) / this.view.width;
		const factor = apart / this.fingersApart();
		this.view.show(centre - (centre - from) * factor, centre + (to - centre) * factor);
	}

	onUp(event) {
		const { drag } = this;
		this.fingers.delete(event.pointerId);
		this.drag = null;
		if (!drag || drag.hasMoved || event.type === 'pointercancel') {
			this.remember();
			return;
		}
		this.click(this.pointAt(event));
		document.getElementById('side').scrollTop = 0;
	}

	click({ x, y }) {
		const lane = this.laneAt(y);
		if (this.mapState && x >= this.view.left && (!lane || !lane.isHead))
			this.showMap(this.mapState.segment, this.view.time(x));
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
		document.getElementById('pointer').textContent = lane.title || lane.name || '';
	}

	stepInLane(direction) {
		const lane = this.shown[this.lane];
		const next = lane && lane.step(this.selection, direction, this.view);
		if (next) {
			this.select(next, true);
			document.getElementById('side').scrollTop = 0;
		}
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
	m: (page) => page.showMap(),
	'?': (page) => page.toggleHelp(),
	'ctrl-f': () => document.getElementById('words').focus(),
	'/': () => document.getElementById('words').focus(),
	Escape: (page) => {
		page.toggleHelp(true);
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

function saveText(name, text, type) {
	const link = element('a', null, { href: URL.createObjectURL(new Blob([text], { type })), download: name });
	link.click();
	URL.revokeObjectURL(link.href);
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
