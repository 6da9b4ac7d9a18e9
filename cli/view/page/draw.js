// Boxes and curves on a canvas. What is smaller than a pixel is drawn once for the pixel, so a lane
// costs as many steps as it has pixels, however much there is in it.
'use strict';

// Okabe and Ito's colours, which nearly everybody can tell apart; a pattern on each says the same without them.
const OWNER_COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b5a800', '#7f6fbf'];
const OWNER_PATTERNS = ['', 'up', 'dots', 'down', 'level', 'cross', 'upright'];
const KERNEL_COLOUR = '#8a8f98';
const FONT = '11px system-ui, sans-serif';
const LETTER = 6.5;                 // how wide one is, about
const LETTERS = { 'il.,:;|!\' ': 3.6, 'frtI()[]-/': 4.8, 'ABCDEFGHKNOPQRSTUVXYZ': 8.7, 'wM': 9.6, 'mW…%@': 11.2 };
const LETTER_WIDTHS = new Map(Object.entries(LETTERS).flatMap(([letters, width]) => [...letters].map((letter) => [letter, width])));
const LABEL_ROOM = 28;              // a box as narrow as this has no label
const PATTERN_ROOM = 6;             // of a box is without it in any case
const TILE = 6;

class View {
	constructor(length) {
		this.length = length;
		this.from = 0;
		this.to = length;
		this.left = 180;            // titles stand left of it
		this.width = 800;
	}

	get right() {
		return this.left + this.width;
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

const COLOURS = ['paper', 'ink', 'faint', 'line', 'band', 'mark', 'select', 'out', 'moving', 'offered', 'lost'];

// The lines of a pattern in a tile, as [x0, y0, x1, y1]; dots are none.
const STROKES = {
	up: [[-1, 7, 7, -1]],
	down: [[-1, -1, 7, 7]],
	cross: [[-1, 7, 7, -1], [-1, -1, 7, 7]],
	level: [[0, 3, 6, 3]],
	upright: [[3, 0, 3, 6]],
	dots: [],
};

// Everything that is drawn is drawn by these few: SvgBrush has the same.
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
		for (const name of COLOURS)
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

	// Through [x, y, x, y …].
	line(colour, ...points) {
		this.context.strokeStyle = colour;
		this.context.beginPath();
		this.context.moveTo(points[0], points[1]);
		for (let i = 2; i < points.length; i += 2)
			this.context.lineTo(points[i], points[i + 1]);
		this.context.stroke();
	}

	area(colour, ...points) {
		this.context.fillStyle = colour;
		this.context.beginPath();
		this.context.moveTo(points[0], points[1]);
		for (let i = 2; i < points.length; i += 2)
			this.context.lineTo(points[i], points[i + 1]);
		this.context.fill();
	}

	// What `draw` draws is seen within the box only.
	within(x, y, width, height, draw) {
		this.context.save();
		this.context.beginPath();
		this.context.rect(x, y, width, height);
		this.context.clip();
		draw();
		this.context.restore();
	}

	shade(colour, x, y, width, height) {
		this.context.globalAlpha = 0.2;
		this.fill(colour, x, y, width, height);
		this.context.globalAlpha = 1;
	}

	// Lines on `colour`, or on what is there already when that is ''.
	pattern(kind, colour, stroke = this.colours.paper) {
		const key = kind + colour + stroke;
		if (!this.patterns.has(key)) {
			const tile = document.createElement('canvas');
			tile.width = tile.height = TILE;
			const context = tile.getContext('2d');
			if (colour) {
				context.fillStyle = colour;
				context.fillRect(0, 0, TILE, TILE);
			}
			context.strokeStyle = context.fillStyle = stroke;
			context.beginPath();
			for (const [x0, y0, x1, y1] of STROKES[kind]) {
				context.moveTo(x0, y0);
				context.lineTo(x1, y1);
			}
			context.stroke();
			if (kind === 'dots')
				context.fillRect(2, 2, 2, 2);
			this.patterns.set(key, this.context.createPattern(tile, 'repeat'));
		}
		return this.patterns.get(key);
	}

	// A label inside of a box of that colour, as much of it as there is room for: the box's pattern is seen behind it.
	label(text, x, y, width, colour) {
		const room = width - PATTERN_ROOM;
		if (width < LABEL_ROOM)
			return;
		const shown = textWithin(text, room - 3);
		this.fill(colour, x, y - 6, Math.min(room, textWidth(shown) + 5), 11);
		this.text(shown, x + 3, y, isLight(colour) ? '#000' : '#fff');
	}

	// A picture of a fill, for the legend.
	swatch(draw) {
		const canvas = document.createElement('canvas');
		canvas.width = 48;
		canvas.height = 28;
		canvas.className = 'swatch';
		const brush = Object.assign(Object.create(Brush.prototype), { context: canvas.getContext('2d'), colours: this.colours, patterns: new Map() });
		brush.context.scale(2, 2);
		draw(brush);
		return canvas;
	}
}

// In a wide font; and the same in a file, where nothing can be measured.
function textWidth(text) {
	let width = 0;
	for (const letter of text)
		width += LETTER_WIDTHS.get(letter) ?? 7;
	return width;
}

// Its beginning; a number that it begins with is not cut, as long as there is room for that.
function textWithin(text, width) {
	const word = text.split(' ', 1)[0];
	if (textWidth(text) <= width)
		return text;
	const left = width - textWidth('…');
	let used = 0, at = 0;
	while (at < text.length && (used += textWidth(text[at])) <= left)
		at++;
	return at <= word.length + 1 && textWidth(word) <= width ? word : text.slice(0, at) + '…';
}

function isLight(colour) {
	const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
	return 0.3 * red + 0.59 * green + 0.11 * blue > 0.5;
}

function ownerColour(owner) {
	return owner < 0 ? KERNEL_COLOUR : OWNER_COLOURS[owner % OWNER_COLOURS.length];
}

// The kernel's own are the plain grey ones. Colours and patterns come round after 8 and 7: 56 differ.
function ownerFill(brush, owner) {
	const kind = owner < 0 ? '' : OWNER_PATTERNS[owner % OWNER_PATTERNS.length];
	return kind === '' ? ownerColour(owner) : brush.pattern(kind, ownerColour(owner));
}

// Calls `box(index, x, width)` for what can be seen of `stretches`, at most about once a pixel.
function eachSeen(stretches, view, box) {
	const [first, last] = stretches.range(view.from, view.to);
	for (let i = first; i < last; i++) {
		const end = Math.min(stretches.ends[i], view.length);
		if (end < view.from)
			continue;
		const x = Math.max(view.left, view.x(stretches.begins[i]));
		const width = Math.min(view.right, view.x(end)) - x;
		box(i, x, Math.max(1, width));
		if (width < 1) {
			const next = lowerBound(stretches.begins, view.time(Math.floor(x) + 1), i + 1, last);
			i = Math.max(i, next - 1);
		}
	}
}

// Calls `piece(x, width, value)` for each run of pixels in which `valueAt(time, time of the next pixel)` stays the same.
function eachRun(view, valueAt, piece) {
	let start = 0, value = valueAt(view.time(view.left), view.time(view.left + 1));
	for (let x = 1; x <= view.width; x++) {
		const next = x < view.width ? valueAt(view.time(view.left + x), view.time(view.left + x + 1)) : NaN;
		if (next === value)
			continue;
		piece(view.left + start, Math.min(x, view.width) - start, value);
		start = x;
		value = next;
	}
}
