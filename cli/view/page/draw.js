// Boxes and curves on a canvas. What is smaller than a pixel is drawn once for the pixel, so a lane
// costs as many steps as it has pixels, however much there is in it.
'use strict';

// Okabe and Ito's colours, which nearly everybody can tell apart; patterns say the same without them.
const PROCESS_COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b5a800', '#7f6fbf'];
const KERNEL_COLOUR = '#8a8f98';
const FONT = '11px system-ui, sans-serif';
const LABEL_ROOM = 28;              // a box as narrow as this has no label

class View {
	constructor(length) {
		this.length = length;
		this.from = 0;
		this.to = length;
		this.left = 180;            // titles stand left of it
		this.width = 800;
	}

	x(time) {
		return this.left + (time - this.from) * this.width / (this.to - this.from);
	}

	time(x) {
		return this.from + (x - this.left) * (this.to - this.from) / this.width;
	}

	get perPixel() {
		return (this.to - this.from) / this.width;
	}

	// Stays within the trace, and above a nanosecond for the whole width.
	show(from, to) {
		const span = Math.min(Math.max(to - from, 10), this.length);
		from = Math.min(Math.max(from, 0), this.length - span);
		this.from = from;
		this.to = from + span;
	}

	zoom(factor, centre = (this.from + this.to) / 2) {
		this.show(centre - (centre - this.from) * factor, centre + (this.to - centre) * factor);
	}

	pan(share) {
		const by = (this.to - this.from) * share;
		this.show(this.from + by, this.to + by);
	}
}

class Brush {
	constructor(canvas) {
		this.canvas = canvas;
		this.context = canvas.getContext('2d', { alpha: false });
		this.patterns = new Map();
		this.readTheme();
	}

	readTheme() {
		const style = getComputedStyle(document.documentElement);
		this.colours = {};
		for (const name of ['paper', 'ink', 'faint', 'line', 'band', 'mark', 'select', 'out', 'moving', 'offered', 'lost'])
			this.colours[name] = style.getPropertyValue(`--${name}`).trim();
		this.patterns.clear();
	}

	resize(width, height) {
		const scale = window.devicePixelRatio || 1;
		this.width = width;
		this.height = height;
		this.canvas.width = Math.round(width * scale);
		this.canvas.height = Math.round(height * scale);
		this.canvas.style.height = `${height}px`;
		this.context.setTransform(scale, 0, 0, scale, 0, 0);
		this.context.font = FONT;
		this.context.textBaseline = 'middle';
	}

	fill(colour, x, y, width, height) {
		this.context.fillStyle = colour;
		this.context.fillRect(x, y, width, height);
	}

	text(text, x, y, colour = this.colours.ink) {
		this.context.fillStyle = colour;
		this.context.fillText(text, x, y);
	}

	outline(colour, x, y, width, height) {
		this.context.strokeStyle = colour;
		this.context.lineWidth = 2;
		this.context.strokeRect(x + 1, y + 1, Math.max(1, width - 2), Math.max(1, height - 2));
		this.context.lineWidth = 1;
	}

	line(colour, x0, y0, x1, y1) {
		this.context.strokeStyle = colour;
		this.context.beginPath();
		this.context.moveTo(x0, y0);
		this.context.lineTo(x1, y1);
		this.context.stroke();
	}

	// Strokes on `colour`: 'up' and 'down' are slanted, 'cross' is both, 'dots' are dots.
	pattern(kind, colour) {
		const key = kind + colour;
		if (!this.patterns.has(key)) {
			const tile = document.createElement('canvas');
			tile.width = tile.height = 6;
			const context = tile.getContext('2d');
			context.fillStyle = colour;
			context.fillRect(0, 0, 6, 6);
			context.strokeStyle = context.fillStyle = this.colours.paper;
			context.beginPath();
			if (kind === 'up' || kind === 'cross') {
				context.moveTo(-1, 7);
				context.lineTo(7, -1);
			}
			if (kind === 'down' || kind === 'cross') {
				context.moveTo(-1, -1);
				context.lineTo(7, 7);
			}
			context.stroke();
			if (kind === 'dots')
				context.fillRect(2, 2, 2, 2);
			this.patterns.set(key, this.context.createPattern(tile, 'repeat'));
		}
		return this.patterns.get(key);
	}

	// A label inside of a box, as much of it as there is room for.
	label(text, x, y, width) {
		const room = width - 6;
		if (room < LABEL_ROOM - 6)
			return;
		const letters = Math.floor(room / 6);
		this.text(letters < text.length ? text.slice(0, Math.max(1, letters - 1)) + '…' : text, x + 3, y, '#fff');
	}
}

function processColour(process) {
	return process < 0 ? KERNEL_COLOUR : PROCESS_COLOURS[process % PROCESS_COLOURS.length];
}

// From the ninth process on colours repeat, with a pattern.
function processFill(brush, process) {
	const colour = processColour(process);
	const round = process < 0 ? 0 : Math.floor(process / PROCESS_COLOURS.length);
	return round === 0 ? colour : brush.pattern(['up', 'down', 'cross', 'dots'][(round - 1) % 4], colour);
}

// Calls `box(index, x, width)` for what can be seen of `stretches`, at most about once a pixel.
function eachSeen(stretches, view, box) {
	const [first, last] = stretches.range(view.from, view.to);
	const right = view.left + view.width;
	for (let i = first; i < last; i++) {
		const end = Math.min(stretches.ends[i], view.length);
		if (end < view.from)
			continue;
		const x = Math.max(view.left, view.x(stretches.begins[i]));
		const width = Math.min(right, view.x(end)) - x;
		box(i, x, Math.max(1, width));
		if (width < 1) {
			const next = lowerBound(stretches.begins, view.time(Math.floor(x) + 1), i + 1, last);
			i = Math.max(i, next - 1);
		}
	}
}
