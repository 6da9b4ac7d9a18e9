// The panel beside the lanes: what is selected, with links to what belongs to it, and tables.
'use strict';

function element(name, text, about = {}) {
	const made = document.createElement(name);
	if (text !== undefined && text !== null)
		made.textContent = text;
	Object.assign(made, about);
	return made;
}

// A link that selects; everything that names something is one.
function link(page, text, selection) {
	const made = element('a', text, { href: '#' });
	made.addEventListener('click', (event) => {
		event.preventDefault();
		page.select(selection, true);
	});
	return made;
}

class Facts {
	constructor(page, title) {
		this.page = page;
		this.parts = [element('h2', title)];
		this.list = element('dl');
		this.parts.push(this.list);
	}

	// `what` is a text, {text, selection}, or a list of those.
	add(name, what) {
		if (what === '' || what === undefined || what === null || (Array.isArray(what) && what.length === 0))
			return this;
		const value = element('dd');
		(Array.isArray(what) ? what : [what]).forEach((one, index) => {
			if (index > 0)
				value.append(', ');
			value.append(one.selection ? link(this.page, one.text, one.selection) : String(one.text ?? one));
		});
		this.list.append(element('dt', name), value);
		return this;
	}

	table(title, table) {
		if (table.rows.length > 0)
			this.parts.push(element('h2', title), tableElement(this.page, table));
		return this;
	}
}

const ROWS_SHOWN = 200;

// {columns: [name …], rows: [[cell …] …]}; a cell is a text, a number, or {text, selection}.
function tableElement(page, { columns, rows }) {
	const table = element('table');
	const head = element('tr');
	columns.forEach((column) => head.append(element('th', column)));
	table.append(head);
	const isNumber = (cell) => typeof cell === 'number' || /^-?[\d.,]+ ?([µnm]?s|[KMGT]?i?B)?( \(\d+\))?$/.test(String(cell?.text ?? cell ?? ''));
	head.childNodes.forEach((cell, index) => { cell.className = rows.length > 0 && isNumber(rows[0][index]) ? 'number' : ''; });
	for (const row of rows.slice(0, ROWS_SHOWN)) {
		const line = element('tr');
		for (const cell of row) {
			const value = element('td');
			const isLink = cell !== null && typeof cell === 'object';
			value.append(isLink && cell.selection ? link(page, cell.text, cell.selection) : String(isLink ? cell.text : cell ?? ''));
			if (isNumber(cell))
				value.className = 'number';
			line.append(value);
		}
		table.append(line);
	}
	if (rows.length > ROWS_SHOWN)
		table.append(element('caption', `the first ${ROWS_SHOWN} of ${rows.length} rows`));
	const frame = element('div', null, { className: 'frame' });
	frame.append(table);
	return frame;
}

// ---- cells ----

const cells = {
	allocation: (model, row) => ({ text: model.allocationName(row), selection: { kind: 'allocation', row } }),
	packet: (model, row) => ({ text: model.packetName(row), selection: { kind: 'packet', row } }),
	fence: (model, row) => ({ text: model.fenceName(row), selection: { kind: 'fence', row } }),
	paging: (model, row) => ({ text: model.pagingName(row), selection: { kind: 'paging', row } }),
	call: (model, row) => ({ text: model.text(model.tables.calls.name[row]), selection: { kind: 'call', row } }),
	time: (model, time) => ({ text: timeText(time), selection: { kind: 'time', row: 0, time } }),
};

// ---- one function for each kind of selection ----

const describe = {
	packet(page, { row }) {
		const { model } = page;
		const { packets, waits } = model.tables;
		const call = packets.call[row] - 1;
		const runs = model.packetRuns[row + 1];
		const waited = model.packetWaits[row + 1];
		const facts = new Facts(page, model.packetName(row))
			.add('kind', model.text(packets.kind[row]))
			.add('process', model.processName(model.packetProcess(row)))
			.add('queued', cells.time(model, packets.queued[row]))
			.add('left', packets.left[row] < 0 ? 'still there at the end' : timeText(packets.left[row]))
			.add('outcome', model.text(packets.outcome[row]))
			.add('time in queue', runs.length ? timeText(model.tables.runs.begin[runs[0]] - packets.queued[row]) : '')
			.add('submitted by', call >= 0 ? cells.call(model, call) : '')
			.add('waits for', syncCells(model, row, 0))
			.add('signals', syncCells(model, row, 1))
			.add('reads', listCells(model, row, 0))
			.add('writes', listCells(model, row, 1))
			.table('With the hardware', { columns: ['node', 'from', 'for', 'how it ended'],
				rows: runs.map((run) => runCells(model, run)) })
			.table('Stood still', { columns: ['why', 'for'],
				rows: waited.map((wait) => [waitText(model, wait),
					timeText((waits.end[wait] < 0 ? model.length : waits.end[wait]) - waits.begin[wait])]) });
		facts.parts.push(button('critical path to this packet', () => page.ask('critical-path', { packet: row })));
		return facts;
	},

	run(page, { row }) {
		const { model } = page;
		const { runs } = model.tables;
		const packet = runs.packet[row] - 1;
		if (packet >= 0)
			return describe.packet(page, { row: packet });
		const [node, from, length, how] = runCells(model, row);
		return new Facts(page, `paging packet ${runs.fence[row]}`)
			.add('node', node).add('from', from).add('for', length).add('how it ended', how);
	},

	call(page, { row }) {
		const { model } = page;
		const { calls } = model.tables;
		const parent = model.callParent[row];
		return new Facts(page, model.text(calls.name[row]))
			.add('thread', model.header.threads[calls.thread[row]].name)
			.add('process', calls.process[row] > 0 ? model.processName(calls.process[row] - 1) : '')
			.add('at', cells.time(model, calls.begin[row]))
			.add('took', calls.length[row] < 0 ? 'not over at the end' : timeText(calls.length[row]))
			.add('status', model.text(calls.status[row]))
			.add('arguments', model.text(calls.arguments[row]))
			.add('inside of', parent >= 0 ? cells.call(model, parent) : '')
			.add('submitted', (model.callPackets.get(row) || []).map((packet) => cells.packet(model, packet)))
			.add('paging', (model.callPagings.get(row) || []).map((paging) => cells.paging(model, paging)));
	},

	paging(page, { row }) {
		const { model } = page;
		const { pagings, allocations, states } = model.tables;
		const end = pagings.end[row] < 0 ? model.length : pagings.end[row];
		const fence = model.fenceByName.get(`${pagings.process[row]} ${pagings.sync[row]}`);
		const moved = model.movesIn(pagings.begin[row], end).filter((state) =>
			allocations.process[states.allocation[state]] === pagings.process[row]);
		return new Facts(page, model.pagingName(row))
			.add('process', model.processName(pagings.process[row] - 1))
			.add('added by', pagings.call[row] ? cells.call(model, pagings.call[row] - 1) : '')
			.add('added', cells.time(model, pagings.begin[row]))
			.add('took', pagings.end[row] < 0 ? 'not over at the end' : timeText(end - pagings.begin[row]))
			.add('its fence', fence === undefined ? '' : cells.fence(model, fence))
			.table('What moved of this process meanwhile', { columns: ['at', 'allocation', 'state', 'why'],
				rows: moved.map((state) => [cells.time(model, states.time[state]), cells.allocation(model, states.allocation[state]),
					STATE_NAMES[states.state[state]], reasonCell(model, state)]) });
	},

	fence(page, { row }) {
		const { model } = page;
		const { syncs, signals, packets } = model.tables;
		const { process, sync, syncs: mine, signals: byCpu } = model.fences[row];
		const rows = [...mine.map((one) => {
			const packet = syncs.packet[one] - 1;
			const at = packet < 0 ? 0 : syncs.is_signal[one] ? packets.left[packet] : packets.queued[packet];
			return [at, syncs.value[one], syncs.is_signal[one] ? 'signalled by' : 'waited for by', packet < 0 ? '' : cells.packet(model, packet)];
		}), ...byCpu.map((one) => [signals.time[one], signals.value[one], 'signalled by', 'the CPU'])].sort((a, b) => a[0] - b[0]);
		return new Facts(page, model.fenceName(row))
			.add('process', model.processName(process))
			.add('of', model.pagingQueues.filter((queue) => queue.process === process && queue.sync === sync)
				.map((queue) => `paging queue ${hexText(queue.handle)}`))
			.table('Who waits and who signals', { columns: ['at', 'value', 'how', 'who'],
				rows: rows.map(([at, ...rest]) => [at < 0 ? 'never' : cells.time(model, at), ...rest]) });
	},

	allocation(page, { row, time }) {
		const { model } = page;
		const { allocations, states } = model.tables;
		const list = Array.from(model.statesOf(row));
		const facts = new Facts(page, model.allocationName(row))
			.add('size', bytesText(allocations.size[row]))
			.add('process', model.processName(allocations.process[row] - 1))
			.add('device', allocations.device[row] ? hexText(allocations.device[row]) : '')
			.add('resource', allocations.resource[row] ? hexText(allocations.resource[row]) : '')
			.add('created', cells.time(model, allocations.born[row]))
			.add('destroyed', allocations.died[row] < 0 ? 'alive at the end' : timeText(allocations.died[row]))
			.add('moved', `${model.moves[row]} times, ${bytesText(model.movedBytes[row])}`)
			.add('evicted', `${model.evictions[row]} times`)
			.add('waited for room', model.waitCaused[row] ? timeText(model.waitCaused[row]) : '');
		if (time !== undefined)
			facts.add('there', stateAt(model, row, time));
		facts.parts.push(button('why was this evicted?', () => page.ask('why-evicted', { allocation: row })));
		return facts.table('Where it was', { columns: ['from', 'for', 'state', 'where', 'why'],
			rows: list.map((state, index) => [cells.time(model, states.time[state]),
				timeText(model.stateEnd(list, index, row) - states.time[state]),
				STATE_NAMES[states.state[state]], states.segment[state] ? model.segmentName(states.segment[state] - 1) : '',
				reasonCell(model, state)]) })
			.table('Who else has opened it', { columns: ['process', 'handle', 'from', 'until'],
				rows: model.openingsOf(row).map((one) => {
					const { process, handle, begin, end } = model.tables.openings;
					return [model.processName(process[one] - 1), hexText(handle[one]), cells.time(model, begin[one]),
						end[one] < 0 ? 'the end' : cells.time(model, end[one])];
				}) })
			.table('Packets that list it', { columns: ['packet', 'how'],
				rows: model.allocationLists[row].filter((list) => model.tables.lists.packet[list] > 0).map((list) =>
					[cells.packet(model, model.tables.lists.packet[list] - 1), model.tables.lists.is_written[list] ? 'writes' : 'reads']) })
			.table('Whose room it got', { columns: ['at', 'allocation', 'of', 'rank'],
				rows: model.victimsOf(row).map((state) => [cells.time(model, states.time[state]),
					cells.allocation(model, states.allocation[state]), model.ownerName(model.allocationOwner(states.allocation[state])),
					model.text(states.rank[state])]) });
	},

	mark(page, { row }) {
		const { model } = page;
		const { marks } = model.tables;
		return new Facts(page, model.text(marks.kind[row]))
			.add('at', cells.time(model, marks.time[row]))
			.add('process', marks.process[row] > 0 ? model.processName(marks.process[row] - 1) : '')
			.add('what', model.text(marks.text[row]));
	},

	segment(page, { row, time }) {
		const { model } = page;
		const facts = new Facts(page, model.segmentName(row))
			.add('size', bytesText(model.header.segments[row].size_bytes)).add('at', timeText(time));
		facts.parts.push(button('address map at this moment', () => page.showMap(row, time)));
		return facts.table('Who has how much', { columns: [model.by, 'bytes'],
			rows: model.segmentSeries[row].map((series, owner) =>
				[model.ownerName(owner < model.ownerCount ? owner : -1), bytesText(series.at(time))]) });
	},

	budget(page, { row, time }) {
		const { model } = page;
		return new Facts(page, model.processName(row)).add('at', timeText(time))
			.table('Memory', { columns: ['what', 'bytes'], rows: model.header.series.flatMap((one, index) =>
				one.process === row ? [[`${one.group} ${one.kind}`, bytesText(model.series[index].at(time))]] : []) });
	},

	time(page, { time }) {
		return new Facts(page, `moment ${timeText(time)}`);
	},
};

// The fences that a packet waits for, or signals; of a paging queue's what it is for.
function syncCells(model, packet, isSignal) {
	const { syncs } = model.tables;
	return model.packetSyncs[packet + 1].filter((sync) => syncs.is_signal[sync] === isSignal).flatMap((sync) => {
		const fence = { ...cells.fence(model, model.syncFence[sync]) };
		fence.text += ` to be ${syncs.value[sync]}`;
		const paging = model.pagingOf(syncs.process[sync], syncs.sync[sync], syncs.value[sync]);
		return paging < 0 ? [fence] : [fence, cells.paging(model, paging)];
	});
}

// Of its allocation list, where the trace has it (dxgk trace --with lists).
function listCells(model, packet, isWritten) {
	const { lists } = model.tables;
	return model.packetLists[packet + 1].filter((row) => lists.is_written[row] === isWritten)
		.map((row) => cells.allocation(model, lists.allocation[row]));
}

// What the page shows while nothing is selected: what came of the whole run.
function overview(page) {
	const { model } = page;
	const { header, tables } = model;
	const reasons = new Map();
	for (let row = 0; row < tables.states.rows; row++) {
		if (tables.states.state[row] !== STATE.LEAVING)
			continue;
		const reason = model.text(tables.states.reason[row]) || 'not told';
		const [count, bytes] = reasons.get(reason) || [0, 0];
		reasons.set(reason, [count + 1, bytes + tables.allocations.size[tables.states.allocation[row]]]);
	}
	const facts = new Facts(page, header.program || header.title)
		.add('lasted', timeText(model.length))
		.add('events', `${header.events}${header.is_cut ? ', and no end: it was cut off' : ''}`)
		.add('processes', String(tables.processes.rows))
		.add('allocations', String(tables.allocations.rows))
		.add('packets', String(tables.packets.rows))
		.add('marks', tables.marks.rows ? `${tables.marks.rows} refusals, reports, faults, resets, markers` : '')
		.table('Segments', { columns: ['segment', 'size', 'at most', 'in', 'out'],
			rows: header.segments.map((segment, row) => {
				const sums = model.segmentSums[row];
				return [{ text: model.segmentName(row), selection: { kind: 'segment', row, time: model.length / 2 } },
					bytesText(segment.size_bytes), bytesText(model.segmentMost[row]),
					`${bytesText(sums.inBytes)} (${sums.inCount})`, `${bytesText(sums.outBytes)} (${sums.outCount})`];
			}) })
		.table('Why allocations left', { columns: ['because', 'times', 'bytes'],
			rows: [...reasons].sort((a, b) => b[1][0] - a[1][0]).map(([reason, [count, bytes]]) => [reason, count, bytesText(bytes)]) });
	facts.parts.push(element('p', 'Select a box, a row or a curve to see more of it; or ask a question above.'));
	return facts.parts;
}

function runCells(model, run) {
	const { runs } = model.tables;
	return [model.nodeName(runs.node[run]), timeText(runs.begin[run]),
		timeText((runs.end[run] < 0 ? model.length : runs.end[run]) - runs.begin[run]), model.text(runs.outcome[run])];
}

function reasonCell(model, state) {
	const { states } = model.tables;
	const reason = model.text(states.reason[state]);
	const winner = states.for[state] - 1;
	return winner >= 0 ? { text: `${reason} ${model.allocationName(winner)}`, selection: { kind: 'allocation', row: winner } } : reason;
}

function stateAt(model, row, time) {
	const { states } = model.tables;
	let found = 'out';
	for (const state of model.statesOf(row)) {
		if (states.time[state] > time)
			break;
		found = STATE_NAMES[states.state[state]] + (states.segment[state] ? `, ${model.segmentName(states.segment[state] - 1)}` : '');
	}
	return found;
}

function button(text, click) {
	const made = element('button', text, { type: 'button' });
	made.addEventListener('click', click);
	return made;
}
