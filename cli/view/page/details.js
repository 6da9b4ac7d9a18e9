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
	for (const row of rows.slice(0, ROWS_SHOWN)) {
		const line = element('tr');
		for (const cell of row) {
			const value = element('td');
			const isLink = cell !== null && typeof cell === 'object';
			value.append(isLink && cell.selection ? link(page, cell.text, cell.selection) : String(isLink ? cell.text : cell ?? ''));
			if (typeof cell === 'number' || /^-?[\d.,]+ ?([µnm]?s|[KMGT]?i?B)?$/.test(value.textContent))
				value.className = 'number';
			line.append(value);
		}
		table.append(line);
	}
	if (rows.length > ROWS_SHOWN)
		table.append(element('caption', `the first ${ROWS_SHOWN} of ${rows.length} rows`));
	return table;
}

// ---- cells ----

const cells = {
	allocation: (model, row) => ({ text: model.allocationName(row), selection: { kind: 'allocation', row } }),
	packet: (model, row) => ({ text: model.packetName(row), selection: { kind: 'packet', row } }),
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
			.add('submitted', (model.callPackets.get(row) || []).map((packet) => cells.packet(model, packet)));
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
			.add('others waited for its room', model.waitCaused[row] ? timeText(model.waitCaused[row]) : '');
		if (time !== undefined)
			facts.add('there', stateAt(model, row, time));
		facts.parts.push(button('why was this evicted?', () => page.ask('why-evicted', { allocation: row })));
		return facts.table('Where it was', { columns: ['from', 'for', 'state', 'where', 'why'],
			rows: list.map((state, index) => [cells.time(model, states.time[state]),
				timeText(model.stateEnd(list, index, row) - states.time[state]),
				STATE_NAMES[states.state[state]], states.segment[state] ? model.segmentName(states.segment[state] - 1) : '',
				reasonCell(model, state)]) });
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
		return facts.table('Who has how much', { columns: ['process', 'bytes'],
			rows: model.segmentSeries[row].map((series, owner) =>
				[owner < model.processes.length ? model.processName(owner) : 'kernel', bytesText(series.at(time))]) });
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
