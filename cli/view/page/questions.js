// Questions and their answers as tables: the same that `dxgk view --query` prints (cli/view/query.c).
// A question is {title, answer(model, about) -> {columns, rows}}.
'use strict';

const questions = {
	'why-evicted': {
		title: 'why was it evicted?',
		answer(model, about) {
			const { allocations, states } = model.tables;
			const rows = [];
			for (let row = 0; row < states.rows; row++) {
				const allocation = states.allocation[row];
				if (states.state[row] !== STATE.LEAVING || (about.allocation ?? allocation) !== allocation)
					continue;
				const winner = states.for[row] - 1;
				rows.push([cells.time(model, states.time[row]), cells.allocation(model, allocation),
					model.processName(allocations.process[allocation] - 1), bytesText(allocations.size[allocation]),
					model.segmentName(states.segment[row] - 1), model.text(states.reason[row]),
					winner >= 0 ? cells.allocation(model, winner) : '', model.text(states.rank[row])]);
			}
			return { columns: ['at', 'allocation', 'of', 'size', 'left', 'because', 'for', 'rank'], rows };
		},
	},

	'longest-wait': {
		title: 'what waited longest for room?',
		answer(model) {
			const { rooms } = model.tables;
			const order = Array.from({ length: rooms.rows }, (_, row) => row)
				.sort((a, b) => model.roomWait(b) - model.roomWait(a) || a - b);
			return {
				columns: ['waited', 'at', 'process', 'bytes', 'where', 'for'],
				rows: order.map((row) => [timeText(model.roomWait(row)), cells.time(model, rooms.begin[row]),
					model.processName(rooms.process[row] - 1), bytesText(rooms.bytes[row]),
					rooms.segment[row] ? model.segmentName(rooms.segment[row] - 1) : '',
					rooms.allocation[row] ? cells.allocation(model, rooms.allocation[row] - 1) : '']),
			};
		},
	},

	'thrash': {
		title: 'what went out and came back?',
		answer(model, about) {
			const within = (about.milliseconds ?? 10) * 1e6;
			const { allocations, states } = model.tables;
			const rows = [];
			for (let allocation = 0; allocation < allocations.rows; allocation++) {
				let left = -1;
				for (const state of model.statesOf(allocation)) {
					if (states.state[state] === STATE.LEAVING)
						left = states.time[state];
					else if (states.state[state] === STATE.ENTERING && left >= 0) {
						if (states.time[state] - left <= within)
							rows.push({ allocation, left, back: states.time[state] });
						left = -1;
					}
				}
			}
			rows.sort((a, b) => (a.back - a.left) - (b.back - b.left) || a.left - b.left);
			return {
				columns: ['back after', 'left', 'allocation', 'of', 'size'],
				rows: rows.map(({ allocation, left, back }) => [timeText(back - left), cells.time(model, left),
					cells.allocation(model, allocation), model.processName(allocations.process[allocation] - 1),
					bytesText(allocations.size[allocation])]),
			};
		},
	},

	'paging-holders': {
		title: 'who held the paging node?',
		answer(model) {
			const { allocations, states } = model.tables;
			const held = new Map();
			for (let allocation = 0; allocation < allocations.rows; allocation++) {
				const list = model.statesOf(allocation);
				list.forEach((state, index) => {
					const kind = states.state[state];
					if (kind !== STATE.ENTERING && kind !== STATE.LEAVING)
						return;
					const entry = held.get(allocation) || { time: 0, in: 0, out: 0 };
					entry.time += model.stateEnd(list, index, allocation) - states.time[state];
					entry[kind === STATE.ENTERING ? 'in' : 'out']++;
					held.set(allocation, entry);
				});
			}
			const order = [...held].sort((a, b) => b[1].time - a[1].time || a[0] - b[0]);
			return {
				columns: ['moving for', 'allocation', 'of', 'in', 'out', 'bytes'],
				rows: order.map(([allocation, entry]) => [timeText(entry.time), cells.allocation(model, allocation),
					model.processName(allocations.process[allocation] - 1), entry.in, entry.out,
					bytesText((entry.in + entry.out) * allocations.size[allocation])]),
			};
		},
	},

	'critical-path': {
		title: 'what did the last packet wait for?',
		answer(model, about) {
			return { columns: ['from', 'for', 'what', 'packet'], rows: criticalPath(model, about.packet ?? lastPacket(model)) };
		},
	},
};

function lastPacket(model) {
	const { packets } = model.tables;
	let last = -1;
	for (let row = 0; row < packets.rows; row++) {
		if (packets.left[row] >= 0 && (last < 0 || packets.left[row] >= packets.left[last]))
			last = row;
	}
	return last;
}

const STEPS_AT_MOST = 64;

function waitText(model, wait) {
	const { sync, value, kind } = model.tables.waits;
	return sync[wait] ? `waited for fence ${hexText(sync[wait])} to be ${value[wait]}` : `waited: ${model.text(kind[wait])}`;
}

// Backwards: with the hardware; behind another packet of its node; waiting; behind the one before it in its
// queue; then that packet's own way.
function criticalPath(model, packet) {
	const { packets, runs, waits } = model.tables;
	const rows = [];
	const add = (from, to, what, of) => {
		if (to > from)
			rows.push([cells.time(model, from), timeText(to - from), what, cells.packet(model, of)]);
	};
	while (packet >= 0 && rows.length < STEPS_AT_MOST) {
		let begin = packets.left[packet] < 0 ? model.length : packets.left[packet];
		for (const run of model.packetRuns[packet + 1].slice().reverse()) {
			const end = runs.end[run] < 0 ? model.length : runs.end[run];
			add(runs.begin[run], end, `with ${model.nodeName(runs.node[run])}`, packet);
			begin = runs.begin[run];
		}
		for (const wait of model.packetWaits[packet + 1].slice().reverse()) {
			const end = waits.end[wait] < 0 ? model.length : waits.end[wait];
			add(waits.begin[wait], Math.min(end, begin), waitText(model, wait), packet);
			begin = Math.min(begin, waits.begin[wait]);
		}
		const before = packetBefore(model, packet, begin);
		const since = Math.max(packets.queued[packet], before >= 0 ? packets.left[before] : 0);
		add(since, begin, 'in its queue, ready', packet);
		packet = before >= 0 && packets.left[before] > packets.queued[packet] ? before : -1;
	}
	return rows;
}

// The one in front of it in its queue that left last before `time`.
function packetBefore(model, packet, time) {
	const { packets } = model.tables;
	const stretches = model.queuePackets[packets.queue[packet]];
	const index = stretches.rows.indexOf(packet);
	for (let i = index - 1; i >= 0 && i > index - 64; i--) {
		if (stretches.ends[i] <= time)
			return stretches.rows[i];
	}
	return -1;
}

// ---- finding ----

const UNITS = { '': 1, b: 1, kib: 1024, mib: 1048576, gib: 1073741824, k: 1024, m: 1048576, g: 1073741824 };

// Words are looked for in names, ids, handles, rules; `size>=1MiB` in sizes.
function find(model, words) {
	const size = /^size\s*(>=|<=|=)\s*([\d.]+)\s*([a-z]*)$/i.exec(words.trim());
	const { allocations, packets, marks } = model.tables;
	const rows = [];
	if (size) {
		const limit = Number(size[2]) * (UNITS[size[3].toLowerCase()] || 1);
		const fits = { '>=': (bytes) => bytes >= limit, '<=': (bytes) => bytes <= limit, '=': (bytes) => bytes === limit }[size[1]];
		for (let row = 0; row < allocations.rows; row++) {
			if (fits(allocations.size[row]))
				rows.push([cells.allocation(model, row), bytesText(allocations.size[row])]);
		}
		return { columns: ['found', 'size'], rows };
	}
	const word = words.trim().toLowerCase();
	const has = (...texts) => texts.some((text) => String(text).toLowerCase().includes(word));
	for (let row = 0; row < allocations.rows; row++) {
		const { id, device, resource } = allocations;
		if (String(id[row]) === word || hexText(id[row]) === word || has(model.text(allocations.name[row])) ||
		    [device[row], resource[row]].some((handle) => handle && hexText(handle) === word))
			rows.push([cells.allocation(model, row), bytesText(allocations.size[row])]);
	}
	for (let row = 0; row < marks.rows; row++) {
		if (has(model.text(marks.kind[row]), model.text(marks.text[row])))
			rows.push([{ text: model.text(marks.text[row]), selection: { kind: 'mark', row } }, timeText(marks.time[row])]);
	}
	for (let row = 0; row < packets.rows && /^\d+$/.test(word); row++) {
		if (String(packets.ticket[row]) === word)
			rows.push([cells.packet(model, row), timeText(packets.queued[row])]);
	}
	const { calls } = model.tables;
	const named = new Set(model.texts.flatMap((text, index) => has(text) ? [index] : []));
	for (let row = 0; row < calls.rows && rows.length < 1000; row++) {
		if (named.has(calls.name[row]) || named.has(calls.arguments[row]))
			rows.push([cells.call(model, row), timeText(calls.begin[row])]);
	}
	return { columns: ['found', ''], rows };
}
