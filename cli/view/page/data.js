// What the page carries: a header of JSON and columns of numbers, packed by cli/view/page.c.
//
//   "DXGKVIEW"  u32 version  u32 bytes of the header  header  columns
//
// A column holds whole numbers. Each is written as its difference from the one before it, zigzag
// (0, -1, 1, -2 … are 0, 1, 2, 3 …) in groups of seven bits, lowest first. All of that is gzip'ed
// and stands in the page as base64.
'use strict';

const PAGE_VERSION = 1;
const PAGE_HEAD_BYTES = 16;

async function unpack(base64) {
	const packed = await fetch('data:application/octet-stream;base64,' + base64);
	const stream = packed.body.pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Numbers beyond 2^53 are texts in the header, so a double has them exactly.
function readColumn(bytes, at, rows) {
	const column = new Float64Array(rows);
	let value = 0;
	for (let row = 0; row < rows; row++) {
		let byte = bytes[at++];
		let low = byte & 127;
		if (byte > 127) {
			let shift = 7;
			while (byte > 127 && shift < 28) {
				byte = bytes[at++];
				low |= (byte & 127) << shift;
				shift += 7;
			}
			if (byte > 127) {
				let scale = 268435456;
				let wide = low;
				while (byte > 127) {
					byte = bytes[at++];
					wide += (byte & 127) * scale;
					scale *= 128;
				}
				value += wide % 2 ? -(wide + 1) / 2 : wide / 2;
				column[row] = value;
				continue;
			}
		}
		value += low & 1 ? -((low + 1) / 2) : low / 2;
		column[row] = value;
	}
	return column;
}

// {header, tables: {name: {rows, column, column, …}}}
function readPage(bytes) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const magic = String.fromCharCode(...bytes.subarray(0, 8));
	if (magic !== 'DXGKVIEW')
		throw new Error('the data of this page is damaged');
	if (view.getUint32(8, true) !== PAGE_VERSION)
		throw new Error('the data of this page has another version than its program');
	const headerBytes = view.getUint32(12, true);
	const header = JSON.parse(new TextDecoder().decode(
		bytes.subarray(PAGE_HEAD_BYTES, PAGE_HEAD_BYTES + headerBytes)));
	const base = PAGE_HEAD_BYTES + headerBytes;
	const tables = {};
	for (const [name, table] of Object.entries(header.tables)) {
		const columns = { rows: table.rows };
		for (const [column, offset] of Object.entries(table.columns))
			columns[column] = readColumn(bytes, base + offset, table.rows);
		tables[name] = columns;
	}
	return { header, tables };
}
