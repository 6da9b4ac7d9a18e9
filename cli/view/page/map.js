// A segment at one moment, to scale: row by row, as text is read.
'use strict';

const MAP_ROWS = 48;
const MAP_ROW_HEIGHT = 9;

// Pieces of a segment from its beginning to its end: {from, to, range}, of a gap without range.
function mapPieces(model, segment, time) {
	const { ranges } = model.tables;
	const there = [];
	for (let row = 0; row < ranges.rows; row++) {
		if (ranges.segment[row] - 1 === segment && ranges.begin[row] <= time && (ranges.end[row] < 0 || ranges.end[row] > time))
			there.push(row);
	}
	there.sort((a, b) => ranges.offset[a] - ranges.offset[b]);
	const pieces = [];
	let at = 0;
	for (const range of there) {
		if (ranges.offset[range] > at)
			pieces.push({ from: at, to: ranges.offset[range] });
		at = ranges.offset[range] + ranges.bytes[range];
		pieces.push({ from: ranges.offset[range], to: at, range });
	}
	if (at < model.header.segments[segment].size_bytes)
		pieces.push({ from: at, to: model.header.segments[segment].size_bytes });
	return pieces;
}

function mapControls(page, segment, time) {
	const { model } = page;
	const choice = element('select', null, { title: 'segment' });
	choice.setAttribute('aria-label', 'segment');
	model.header.segments.forEach((_, index) =>
		choice.append(element('option', model.segmentName(index), { value: index, selected: index === segment })));
	choice.addEventListener('change', () => page.showMap(Number(choice.value), time));
	const moment = element('input', null, { type: 'range', id: 'map-time', min: 0, max: 1000, value: Math.round(1000 * time / model.length) });
	moment.setAttribute('aria-label', 'moment');
	moment.addEventListener('input', () => {
		page.showMap(segment, Number(moment.value) * model.length / 1000);
		document.getElementById('map-time').focus();
	});
	const line = element('p', null, { className: 'controls' });
	line.append(choice, moment);
	return line;
}

function addressMap(page, segment, time) {
	const { model } = page;
	const title = element('h2', `address map at ${timeText(time)}`);
	if (model.tables.ranges.rows === 0 || !model.header.segments[segment])
		return [title, element('p', 'This trace does not tell where in a segment allocations are: make one with dxgk trace --with addresses.')];
	const pieces = mapPieces(model, segment, time);
	const { ranges } = model.tables;
	const gaps = pieces.filter((piece) => piece.range === undefined);
	const size = model.header.segments[segment].size_bytes;
	const free = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
	const largest = gaps.reduce((most, gap) => Math.max(most, gap.to - gap.from), 0);
	const canvas = element('canvas', null, { id: 'map' });
	drawMap(canvas, page, pieces, size);
	canvas.addEventListener('click', (event) => {
		const box = canvas.getBoundingClientRect();
		const row = Math.floor((event.clientY - box.top) / box.height * MAP_ROWS);
		const offset = (row + (event.clientX - box.left) / box.width) / MAP_ROWS * size;
		const hit = pieces.find((piece) => piece.from <= offset && offset < piece.to);
		if (hit && hit.range !== undefined)
			page.select({ kind: 'allocation', row: ranges.allocation[hit.range], time }, true);
	});
	const rows = pieces.map(({ from, to, range }) => [hexText(from), bytesText(to - from),
		range === undefined ? 'free' : cells.allocation(model, ranges.allocation[range]),
		range === undefined ? '' : model.ownerName(model.allocationOwner(ranges.allocation[range]))]);
	return [title, mapControls(page, segment, time),
		element('p', `${bytesText(size)}, of which ${bytesText(free)} free in ${gaps.length} ${gaps.length === 1 ? 'gap' : 'gaps'}, the largest ${bytesText(largest)}. A row is ${bytesText(size / MAP_ROWS)}. A click on the timeline moves it.`),
		canvas, tableElement(page, { columns: ['offset', 'bytes', 'what', 'whose'], rows })];
}

function drawMap(canvas, page, pieces, size) {
	const { ranges } = page.model.tables;
	const width = 340;
	canvas.width = 2 * width;
	canvas.height = 2 * MAP_ROWS * MAP_ROW_HEIGHT;
	const brush = Object.assign(Object.create(Brush.prototype), { context: canvas.getContext('2d'), colours: page.brush.colours, patterns: new Map() });
	brush.context.scale(2, 2);
	brush.fill(brush.colours.paper, 0, 0, width, MAP_ROWS * MAP_ROW_HEIGHT);
	for (const { from, to, range } of pieces) {
		const allocation = range === undefined ? -1 : ranges.allocation[range];
		const isSelected = page.selection && page.selection.kind === 'allocation' && page.selection.row === allocation;
		const [first, last] = [from / size * MAP_ROWS, to / size * MAP_ROWS];
		const fill = range === undefined ? brush.colours.band : ownerFill(brush, page.model.allocationOwner(allocation));
		for (let row = Math.floor(first); row < last; row++) {
			const left = Math.max(0, first - row) * width;
			const right = Math.min(1, last - row) * width;
			brush.fill(fill, left, row * MAP_ROW_HEIGHT, Math.max(0.5, right - left - (last - row <= 1 ? 0.5 : 0)), MAP_ROW_HEIGHT - 1);
			if (isSelected)
				brush.outline(brush.colours.select, left, row * MAP_ROW_HEIGHT, right - left, MAP_ROW_HEIGHT - 1);
		}
	}
}
