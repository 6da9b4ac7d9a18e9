// What the columns say, in the order in which lanes and questions look at it. Nothing here draws.
'use strict';

const STATE = { OUT: 0, ENTERING: 1, IN: 2, LEAVING: 3, SHIFTING: 4 };
const STATE_NAMES = ['out', 'entering', 'in', 'leaving', 'shifting'];
const OFFER = { NONE: 0, OFFERED: 1, DISCARDED: 2, DECOMMITTED: 3 };
const OFFER_NAMES = ['', 'offered', 'discarded', 'decommitted'];
const SERIES_KINDS = ['budget', 'usage'];
const FOREVER = Number.POSITIVE_INFINITY;

// The first index in [from, to) for which `column[index] >= value`, in a column that never falls.
function lowerBound(column, value, from = 0, to = column.length) {
	while (from < to) {
		const middle = (from + to) >>> 1;
		if (column[middle] < value)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

// Stretches of time, sorted by their beginning. `latest[i]` is the latest end among the first i+1,
// so that those which are under way at a moment are found by halving.
class Stretches {
	constructor(rows, begins, ends) {
		const order = rows.slice().sort((a, b) => begins[a] - begins[b] || a - b);
		this.rows = order;
		this.begins = Float64Array.from(order, (row) => begins[row]);
		this.ends = Float64Array.from(order, (row) => ends[row] < 0 ? FOREVER : ends[row]);
		this.latest = new Float64Array(order.length);
		let latest = -1;
		for (let i = 0; i < order.length; i++) {
			latest = Math.max(latest, this.ends[i]);
			this.latest[i] = latest;
		}
	}

	get length() {
		return this.rows.length;
	}

	// Where in it a row is that begins then; -1: nowhere.
	indexOf(row, begin) {
		for (let i = lowerBound(this.begins, begin); i < this.length && this.begins[i] === begin; i++) {
			if (this.rows[i] === row)
				return i;
		}
		return -1;
	}

	// How many are under way at once, at most.
	get depth() {
		if (this.most === undefined) {
			const ends = this.ends.slice().sort();
			let next = 0;
			this.most = 0;
			for (let i = 0; i < this.begins.length; i++) {
				while (ends[next] <= this.begins[i] && next < i)
					next++;
				this.most = Math.max(this.most, i + 1 - next);
			}
		}
		return this.most;
	}

	// Indices [first, last) among which everything is that touches [from, to].
	range(from, to) {
		return [lowerBound(this.latest, from), lowerBound(this.begins, to)];
	}

	// The index of one under way at `time`, the youngest; -1 if there is none.
	at(time) {
		let index = lowerBound(this.begins, time + 1e-9) - 1;
		for (; index >= 0 && this.latest[index] > time; index--) {
			if (this.ends[index] > time)
				return index;
		}
		return -1;
	}
}

// Values that hold until the next one; a pyramid of least and most answers for a pixel's worth.
class Series {
	constructor(times, values) {
		this.times = times;
		this.values = values;
		this.most = [values];
		this.least = [values];
		while (this.most[this.most.length - 1].length > 64) {
			this.most.push(Series.halve(this.most[this.most.length - 1], Math.max));
			this.least.push(Series.halve(this.least[this.least.length - 1], Math.min));
		}
		this.top = values.length ? Series.fold(this.most, 0, values.length, Math.max, 0) : 0;
	}

	static halve(values, pick) {
		const half = new Float64Array((values.length + 1) >>> 1);
		for (let i = 0; i < half.length; i++) {
			const right = 2 * i + 1 < values.length ? values[2 * i + 1] : values[2 * i];
			half[i] = pick(values[2 * i], right);
		}
		return half;
	}

	static fold(levels, from, to, pick, start) {
		let result = start;
		for (let level = 0; from < to; level++) {
			const values = levels[level];
			if (level === levels.length - 1) {
				for (let i = from; i < to; i++)
					result = pick(result, values[i]);
				return result;
			}
			if (from & 1)
				result = pick(result, values[from++]);
			if (to & 1 && from < to)
				result = pick(result, values[--to]);
			from >>>= 1;
			to >>>= 1;
		}
		return result;
	}

	at(time) {
		const index = lowerBound(this.times, time + 1e-9) - 1;
		return index < 0 ? 0 : this.values[index];
	}

	// The most that held at any moment of [from, to).
	mostIn(from, to) {
		return Series.fold(this.most, lowerBound(this.times, from), lowerBound(this.times, to),
			Math.max, this.at(from));
	}
}

// The most that several series are together at any moment.
function mostTogether(list) {
	const next = list.map(() => 0);
	let sum = 0, most = 0;
	for (;;) {
		let time = FOREVER;
		list.forEach((series, i) => { time = Math.min(time, next[i] < series.times.length ? series.times[next[i]] : FOREVER); });
		if (time === FOREVER)
			return most;
		list.forEach((series, i) => {
			if (series.times[next[i]] === time) {
				sum += series.values[next[i]] - (next[i] > 0 ? series.values[next[i] - 1] : 0);
				next[i]++;
			}
		});
		most = Math.max(most, sum);
	}
}

// Rows of a table by the value of one of its columns, in their order: index[value] is a list.
function group(column, rows, count) {
	const lists = Array.from({ length: count }, () => []);
	for (let row = 0; row < rows; row++) {
		if (column[row] >= 0 && column[row] < count)
			lists[column[row]].push(row);
	}
	return lists;
}

// As group(), for long tables: one array of rows and where each value's begin.
function groupFlat(column, rows, count) {
	const starts = new Uint32Array(count + 1);
	for (let row = 0; row < rows; row++)
		starts[column[row] + 1]++;
	for (let i = 0; i < count; i++)
		starts[i + 1] += starts[i];
	const next = starts.slice();
	const order = new Uint32Array(rows);
	for (let row = 0; row < rows; row++)
		order[next[column[row]]++] = row;
	return { starts, order };
}

class Model {
	constructor({ header, tables }) {
		this.header = header;
		this.tables = tables;
		this.texts = header.texts;
		this.length = Math.max(1, header.length_ns);
		this.nameThings();
		this.indexWork();
		this.indexPaging();
		this.indexMemory();
		this.indexCalls();
		this.indexSeries();
		const { processes, devices } = this.tables;
		this.setOwners(processes.rows === 1 && devices.rows > 1 && devices.rows <= OWNER_COLOURS.length ? 'device' : 'process');
	}

	// ---- owners: processes, or the devices that they have ----

	setOwners(by) {
		const { devices } = this.tables;
		this.by = by;
		this.threadOwner = this.header.threads.map((thread) => by === 'process' ? thread.process : -1);
		for (let row = 0; row < devices.rows && by === 'device'; row++) {
			// One that creates several works for nobody in particular.
			if (devices.thread[row] > 0)
				this.threadOwner[devices.thread[row] - 1] = devices.thread.indexOf(devices.thread[row]) === row &&
					devices.thread.lastIndexOf(devices.thread[row]) === row ? row : -1;
		}
		this.addUpSegments();
	}

	get ownerCount() {
		return this.by === 'device' ? this.tables.devices.rows : this.processes.length;
	}

	ownerName(owner) {
		if (owner < 0 || this.by === 'process')
			return this.processName(owner);
		return this.deviceName(owner);
	}

	// By the thread that created it, if that created no other: its name often says more.
	deviceName(device) {
		const { devices } = this.tables;
		const isAlone = devices.thread.indexOf(devices.thread[device]) === devices.thread.lastIndexOf(devices.thread[device]);
		const thread = isAlone ? this.header.threads[devices.thread[device] - 1] : null;
		const process = this.processes.length > 1 ? `${this.processName(devices.process[device] - 1)} ` : '';
		return `${process}${thread && thread.name ? thread.name : 'device'} ${hexText(devices.handle[device])}`;
	}

	allocationOwner(allocation) {
		const { process, device_row: device } = this.tables.allocations;
		return (this.by === 'device' ? device : process)[allocation] - 1;
	}

	queueOwner(queue) {
		const { process, device } = this.tables.queues;
		return (this.by === 'device' ? device : process)[queue] - 1;
	}

	packetOwner(packet) {
		return this.queueOwner(this.tables.packets.queue[packet]);
	}

	runOwner(run) {
		const packet = this.tables.runs.packet[run] - 1;
		return packet < 0 ? -1 : this.packetOwner(packet);
	}

	callOwner(call) {
		const { thread, process } = this.tables.calls;
		return this.by === 'device' ? this.threadOwner[thread[call]] : process[call] - 1;
	}

	text(index) {
		return this.texts[index] || '';
	}

	// The short tables as lists of objects: who there is.
	nameThings() {
		const { processes, threads, nodes, segments, queues, series } = this.tables;
		const list = (table, make) => Array.from({ length: table.rows }, (_, row) => make(row));
		this.processes = list(processes, (row) => ({ pid: processes.pid[row] || processes.id[row], name: this.text(processes.name[row]) }));
		Object.assign(this.header, {
			threads: list(threads, (row) => ({ id: threads.id[row], process: threads.process[row] - 1, name: this.text(threads.name[row]) })),
			nodes: list(nodes, (row) => ({ adapter: nodes.adapter[row], node: nodes.number[row], name: this.text(nodes.name[row]) })),
			segments: list(segments, (row) => ({ adapter: segments.adapter[row], segment: segments.number[row],
				size_bytes: segments.size[row], name: this.text(segments.kind[row]) })),
			queues: list(queues, (row) => ({ process: queues.process[row] - 1, kind: this.text(queues.kind[row]) || 'queue',
				name: queues.handle[row] ? hexText(queues.handle[row]) : String(queues.number[row]) })),
			series: list(series, (row) => ({ kind: SERIES_KINDS[series.kind[row]], process: series.process[row] - 1,
				group: this.text(series.group[row]) })),
		});
	}

	// ---- packets: with a queue from `queued` to `left`, with a node in one or more runs ----

	indexWork() {
		const { packets, runs, waits } = this.tables;
		this.queuePackets = group(packets.queue, packets.rows, this.header.queues.length)
			.map((rows) => new Stretches(rows, packets.queued, packets.left));
		this.nodeRuns = group(runs.node, runs.rows, this.header.nodes.length)
			.map((rows) => new Stretches(rows, runs.begin, runs.end));
		this.packetRuns = group(runs.packet, runs.rows, packets.rows + 1);
		this.packetWaits = group(waits.packet, waits.rows, packets.rows + 1);
		this.callPackets = new Map();
		for (let row = 0; row < packets.rows; row++) {
			const call = packets.call[row] - 1;
			if (call >= 0 && this.callPackets.has(call))
				this.callPackets.get(call).push(row);
			else if (call >= 0)
				this.callPackets.set(call, [row]);
		}
		this.indexFences();
	}

	// ---- fences, by process and handle: who waits for them, who signals them ----

	indexFences() {
		const { syncs, signals, packets } = this.tables;
		const { lists, allocations } = this.tables;
		this.packetLists = group(lists.packet, lists.rows, packets.rows + 1);
		this.allocationLists = group(lists.allocation, lists.rows, allocations.rows);
		this.packetSyncs = group(syncs.packet, syncs.rows, packets.rows + 1);
		this.fences = [];
		this.fenceByName = new Map();
		this.syncFence = new Int32Array(syncs.rows);
		const fence = (process, sync) => {
			const name = `${process} ${sync}`;
			if (!this.fenceByName.has(name)) {
				this.fenceByName.set(name, this.fences.length);
				this.fences.push({ process: process - 1, sync, syncs: [], signals: [] });
			}
			return this.fenceByName.get(name);
		};
		for (let row = 0; row < syncs.rows; row++) {
			this.syncFence[row] = fence(syncs.process[row], syncs.sync[row]);
			if (syncs.packet[row] > 0) // else it came to nothing
				this.fences[this.syncFence[row]].syncs.push(row);
		}
		for (let row = 0; row < signals.rows; row++)
			this.fences[fence(signals.process[row], signals.sync[row])].signals.push(row);
	}

	fenceName(fence) {
		return `fence ${hexText(this.fences[fence].sync)}`;
	}

	// ---- paging queues of clients ----

	indexPaging() {
		const { pagings } = this.tables;
		const rows = new Map();
		for (let row = 0; row < pagings.rows; row++) {
			const name = `${pagings.process[row]} ${pagings.queue[row]}`;
			if (rows.has(name))
				rows.get(name).push(row);
			else
				rows.set(name, [row]);
		}
		this.pagingQueues = [...rows.values()].map((list) => ({ process: pagings.process[list[0]] - 1, handle: pagings.queue[list[0]],
			sync: pagings.sync[list[0]], stretches: new Stretches(list, pagings.begin, pagings.end) }));
		this.pagingByValue = new Map();
		this.callPagings = new Map();
		for (let row = 0; row < pagings.rows; row++) {
			this.pagingByValue.set(`${pagings.process[row]} ${pagings.sync[row]} ${pagings.value[row]}`, row);
			if (pagings.call[row])
				this.callPagings.set(pagings.call[row] - 1, [...this.callPagings.get(pagings.call[row] - 1) || [], row]);
		}
	}

	// The operation that is over when that fence, of a paging queue, has the value; -1: it is no such fence.
	pagingOf(process, sync, value) {
		return this.pagingByValue.get(`${process} ${sync} ${value}`) ?? -1;
	}

	pagingName(row) {
		const { queue, value } = this.tables.pagings;
		return `operation ${value[row]} of paging queue ${hexText(queue[row])}`;
	}

	packetProcess(packet) {
		const queue = this.header.queues[this.tables.packets.queue[packet]];
		return queue ? queue.process : -1;
	}

	// ---- allocations: where each was, from state to state ----

	indexMemory() {
		const { allocations, states, offers, locks, ranges } = this.tables;
		this.allocationStates = groupFlat(states.allocation, states.rows, allocations.rows);
		this.allocationOffers = groupFlat(offers.allocation, offers.rows, allocations.rows);
		this.allocationLocks = groupFlat(locks.allocation, locks.rows, allocations.rows);
		this.allocationRanges = group(ranges.allocation, ranges.rows, allocations.rows);
		this.allocationById = new Map();
		for (let row = 0; row < allocations.rows; row++)
			this.allocationById.set(allocations.id[row], row);
		this.countMoves();
		this.countSegments();
	}

	// Few are shared: they are looked for when one is asked about.
	openingsOf(allocation) {
		const { openings } = this.tables;
		return Array.from({ length: openings.rows }, (_, row) => row).filter((row) => openings.allocation[row] === allocation);
	}

	statesOf(allocation) {
		const { starts, order } = this.allocationStates;
		return order.subarray(starts[allocation], starts[allocation + 1]);
	}

	offersOf(allocation) {
		const { starts, order } = this.allocationOffers;
		return order.subarray(starts[allocation], starts[allocation + 1]);
	}

	locksOf(allocation) {
		const { starts, order } = this.allocationLocks;
		return order.subarray(starts[allocation], starts[allocation + 1]);
	}

	endOf(allocation) {
		const died = this.tables.allocations.died[allocation];
		return died < 0 ? this.length : died;
	}

	// When a state is over: at the allocation's next one, or with it.
	stateEnd(states, index, allocation) {
		return index + 1 < states.length ? this.tables.states.time[states[index + 1]]
			: this.endOf(allocation);
	}

	countMoves() {
		const { allocations, states } = this.tables;
		this.moves = new Uint32Array(allocations.rows);
		this.movedBytes = new Float64Array(allocations.rows);
		this.evictions = new Uint32Array(allocations.rows);
		this.waitCaused = new Float64Array(allocations.rows);
		for (let row = 0; row < states.rows; row++) {
			const allocation = states.allocation[row];
			const state = states.state[row];
			if (state === STATE.ENTERING || state === STATE.LEAVING) {
				this.moves[allocation]++;
				this.movedBytes[allocation] += allocations.size[allocation];
			}
			if (state === STATE.LEAVING)
				this.evictions[allocation]++;
		}
		const { rooms } = this.tables;
		for (let row = 0; row < rooms.rows; row++) {
			const allocation = rooms.allocation[row] - 1;
			if (allocation >= 0)
				this.waitCaused[allocation] += this.roomWait(row);
		}
	}

	// Rows of states that say of something that it begins to move, in the order of time.
	movesIn(from, to) {
		const { states } = this.tables;
		const found = [];
		for (let row = lowerBound(states.time, from); row < states.rows && states.time[row] <= to; row++) {
			if (states.state[row] === STATE.ENTERING || states.state[row] === STATE.LEAVING)
				found.push(row);
		}
		return found;
	}

	// Those that left to make room for it.
	victimsOf(allocation) {
		if (!this.victims) {
			this.victims = new Map();
			const { states } = this.tables;
			for (let row = 0; row < states.rows; row++) {
				const winner = states.for[row] - 1;
				if (winner >= 0)
					this.victims.set(winner, [...this.victims.get(winner) || [], row]);
			}
		}
		return this.victims.get(allocation) || [];
	}

	roomWait(row) {
		const { begin, end } = this.tables.rooms;
		return (end[row] < 0 ? this.length : end[row]) - begin[row];
	}

	// What went in and out of each segment: only what arrived has come in, and goes out.
	countSegments() {
		const { allocations, states } = this.tables;
		this.segmentSums = this.header.segments.map(() => ({ inBytes: 0, inCount: 0, outBytes: 0, outCount: 0 }));
		for (let allocation = 0; allocation < allocations.rows; allocation++) {
			const size = allocations.size[allocation];
			let before = -1, last = STATE.OUT;
			for (const state of this.statesOf(allocation)) {
				const now = states.segment[state] - 1;
				if (states.state[state] === STATE.IN && last === STATE.ENTERING) {
					this.segmentSums[now].inBytes += size;
					this.segmentSums[now].inCount++;
				}
				if (now < 0 && before >= 0 && last !== STATE.ENTERING) {
					this.segmentSums[before].outBytes += size;
					this.segmentSums[before].outCount++;
				}
				before = now;
				last = states.state[state];
			}
		}
	}

	// Bytes of each owner in each segment, from entering to out, less what is lent to who enters behind it.
	addUpSegments() {
		const { allocations, states, loans } = this.tables;
		const groups = this.ownerCount + 1;                 // the kernel's own are the last
		const segments = this.header.segments.length;
		const steps = Array.from({ length: segments * groups }, () => ({ times: [], values: [] }));
		const where = new Int32Array(allocations.rows).fill(-1);
		const add = (lane, time, bytes) => {
			const { times, values } = steps[lane];
			const last = values.length ? values[values.length - 1] : 0;
			if (times.length && times[times.length - 1] === time)
				values[values.length - 1] = last + bytes;
			else {
				times.push(time);
				values.push(last + bytes);
			}
		};
		const lent = new Float64Array(allocations.rows);
		const leave = (allocation, time) => {
			if (where[allocation] >= 0)
				add(where[allocation], time, lent[allocation] - allocations.size[allocation]);
			where[allocation] = -1;
			lent[allocation] = 0;
		};
		let nextLoan = 0;
		const lend = (time) => {
			for (; nextLoan < loans.rows && loans.time[nextLoan] <= time; nextLoan++) {
				const allocation = loans.allocation[nextLoan];
				if (where[allocation] < 0)
					continue;
				add(where[allocation], loans.time[nextLoan], -loans.bytes[nextLoan]);
				lent[allocation] += loans.bytes[nextLoan];
			}
		};
		const ends = Array.from({ length: allocations.rows }, (_, row) => row)
			.filter((row) => allocations.died[row] >= 0)
			.sort((a, b) => allocations.died[a] - allocations.died[b]);
		let nextEnd = 0;
		for (let row = 0; row < states.rows; row++) {
			const allocation = states.allocation[row];
			const time = states.time[row];
			for (; nextEnd < ends.length && allocations.died[ends[nextEnd]] < time; nextEnd++)
				leave(ends[nextEnd], allocations.died[ends[nextEnd]]);
			lend(time);
			const segment = states.segment[row] - 1;
			const owner = this.allocationOwner(allocation);
			const lane = segment < 0 || states.state[row] === STATE.OUT ? -1
				: segment * groups + (owner < 0 ? groups - 1 : owner);
			if (lane === where[allocation])
				continue;
			leave(allocation, time);
			where[allocation] = lane;
			if (lane >= 0)
				add(lane, time, allocations.size[allocation]);
		}
		lend(FOREVER);
		for (; nextEnd < ends.length; nextEnd++)
			leave(ends[nextEnd], allocations.died[ends[nextEnd]]);
		this.segmentSeries = Array.from({ length: segments }, (_, segment) =>
			Array.from({ length: groups }, (_, owner) => {
				const { times, values } = steps[segment * groups + owner];
				return new Series(Float64Array.from(times), Float64Array.from(values));
			}));
		this.segmentMost = this.segmentSeries.map((list) => mostTogether(list));
	}

	// ---- calls: of one thread they nest ----

	indexCalls() {
		const { calls } = this.tables;
		const ends = new Float64Array(calls.rows);
		for (let row = 0; row < calls.rows; row++)
			ends[row] = calls.length[row] < 0 ? FOREVER : calls.begin[row] + calls.length[row];
		this.callEnds = ends;
		this.callParent = new Int32Array(calls.rows).fill(-1);
		this.threadCalls = group(calls.thread, calls.rows, this.header.threads.length)
			.map((rows) => this.nest(rows, calls.begin, ends));
	}

	// Stretches by depth.
	nest(rows, begins, ends) {
		const depths = [];
		const open = [];
		for (const row of rows.slice().sort((a, b) => begins[a] - begins[b] || ends[b] - ends[a])) {
			while (open.length && ends[open[open.length - 1]] <= begins[row])
				open.pop();
			this.callParent[row] = open.length ? open[open.length - 1] : -1;
			(depths[open.length] = depths[open.length] || []).push(row);
			open.push(row);
		}
		return depths.map((list) => new Stretches(list, begins, ends));
	}

	indexSeries() {
		const { counters } = this.tables;
		this.series = group(counters.series, counters.rows, this.header.series.length)
			.map((rows) => new Series(Float64Array.from(rows, (row) => counters.time[row]),
				Float64Array.from(rows, (row) => counters.value[row])));
	}

	// ---- names ----

	processName(process) {
		const found = this.processes[process];
		return found ? `${found.name || 'process'} ${found.pid}` : 'kernel';
	}

	allocationName(allocation) {
		const { allocations } = this.tables;
		const name = this.text(allocations.name[allocation]);
		return `allocation ${hexText(allocations.id[allocation])}${name ? ` "${name}"` : ''}`;
	}

	packetName(packet) {
		const { packets } = this.tables;
		return `packet ${packets.ticket[packet]} of ${this.queueName(packets.queue[packet])}`;
	}

	queueName(queue) {
		const { kind, name } = this.header.queues[queue];
		return `${kind} ${name}`;
	}

	nodeName(node) {
		const { adapter, node: number, name } = this.header.nodes[node];
		return `node ${adapter}.${number}${name ? ` ${name}` : ''}`;
	}

	segmentName(segment) {
		const found = this.header.segments[segment];
		return found ? `segment ${found.adapter}.${found.segment}${found.name ? ` ${found.name}` : ''}` : 'no segment';
	}
}

// ---- numbers as people read them ----

// Rounded to so many digits behind the point, halves up: as cli/view/names.c has them.
function fixed(value, unit, digits) {
	const power = 10 ** digits;
	return (Math.round(value * power / unit) / power).toFixed(digits);
}

function bytesText(bytes) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let unit = 0;
	while (bytes / 1024 ** unit >= 1024 && unit < units.length - 1)
		unit++;
	const size = bytes / 1024 ** unit;
	return `${Number.isInteger(size) ? size : fixed(bytes, 1024 ** unit, 1)} ${units[unit]}`;
}

function timeText(ns) {
	if (ns >= 1e9)
		return `${fixed(ns, 1e9, 3)} s`;
	if (ns >= 1e6)
		return `${fixed(ns, 1e6, 3)} ms`;
	if (ns >= 1e3)
		return `${fixed(ns, 1e3, 2)} µs`;
	return `${Math.round(ns)} ns`;
}

function hexText(number) {
	return `0x${number.toString(16)}`;
}
