// The same picture as a text: what is drawn with this brush is an SVG file.
'use strict';

class SvgBrush {
	constructor(width, height, colours) {
		Object.assign(this, { width, height, colours, parts: [], definitions: new Map(), clips: 0, run: null });
	}

	static number(value) {
		return String(Math.round(value * 10) / 10);
	}

	static escape(text) {
		return text.replace(/[&<>"]/g, (letter) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[letter]);
	}

	// Boxes of one colour that follow each other are one path.
	add(part) {
		if (this.run)
			this.parts.push(`<path fill="${this.run.colour}" d="${this.run.boxes.join('')}"/>`);
		this.run = null;
		if (part)
			this.parts.push(part);
	}

	fill(colour, x, y, width, height) {
		if (!this.run || this.run.colour !== colour) {
			this.add('');
			this.run = { colour, boxes: [] };
		}
		const [left, top, wide, high] = [x, y, width, height].map(SvgBrush.number);
		this.run.boxes.push(`M${left} ${top}h${wide}v${high}h-${wide}z`);
	}

	text(text, x, y, colour = this.colours.ink) {
		this.add(`<text x="${SvgBrush.number(x)}" y="${SvgBrush.number(y + 4)}" fill="${colour}">${SvgBrush.escape(text)}</text>`);
	}

	outline(colour, x, y, width, height) {
		const [left, top, wide, high] = [x + 1, y + 1, Math.max(1, width - 2), Math.max(1, height - 2)].map(SvgBrush.number);
		this.add(`<rect x="${left}" y="${top}" width="${wide}" height="${high}" fill="none" stroke="${colour}" stroke-width="2"/>`);
	}

	line(colour, ...points) {
		this.add(`<polyline points="${points.map(SvgBrush.number).join(' ')}" fill="none" stroke="${colour}"/>`);
	}

	area(colour, ...points) {
		this.add(`<polygon points="${points.map(SvgBrush.number).join(' ')}" fill="${colour}"/>`);
	}

	within(x, y, width, height, draw) {
		const id = `clip${this.clips++}`;
		const [left, top, wide, high] = [x, y, Math.max(0, width), Math.max(0, height)].map(SvgBrush.number);
		this.definitions.set(id, `<clipPath id="${id}"><rect x="${left}" y="${top}" width="${wide}" height="${high}"/></clipPath>`);
		this.add(`<g clip-path="url(#${id})">`);
		draw();
		this.add('</g>');
	}

	shade(colour, x, y, width, height) {
		this.add(`<rect x="${SvgBrush.number(x)}" y="${SvgBrush.number(y)}" width="${SvgBrush.number(width)}" height="${SvgBrush.number(height)}" fill="${colour}" opacity="0.2"/>`);
	}

	pattern(kind, colour, stroke = this.colours.paper) {
		const id = `${kind}${colour}${stroke}`.replaceAll('#', '-');
		const lines = STROKES[kind].map((line) => `<path d="M${line[0]} ${line[1]}L${line[2]} ${line[3]}" stroke="${stroke}"/>`).join('');
		this.definitions.set(id, `<pattern id="${id}" width="${TILE}" height="${TILE}" patternUnits="userSpaceOnUse">` +
			(colour ? `<rect width="${TILE}" height="${TILE}" fill="${colour}"/>` : '') + lines +
			(kind === 'dots' ? `<rect x="2" y="2" width="2" height="2" fill="${stroke}"/>` : '') + '</pattern>');
		return `url(#${id})`;
	}

	toString() {
		this.add('');
		return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" font-family="system-ui, sans-serif" font-size="11">\n` +
			`<defs>\n${[...this.definitions.values()].join('\n')}\n</defs>\n${this.parts.join('\n')}\n</svg>\n`;
	}
}

SvgBrush.prototype.label = Brush.prototype.label;
