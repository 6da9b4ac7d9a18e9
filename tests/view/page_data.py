# SPDX-License-Identifier: MIT
"""What a page of dxgk view carries (cli/view/page/data.js has the form): read(path) -> (header, tables)."""
import base64
import gzip
import json
import re
import struct

PLACE = re.compile(r'<script type="application/octet-stream" id="data">([A-Za-z0-9+/=]*)</script>')


def column(data, at, rows):
    numbers, value = [], 0
    for _ in range(rows):
        wide, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            wide |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        value += -((wide + 1) >> 1) if wide & 1 else wide >> 1
        numbers.append(value)
    return numbers


def read(path):
    """Tables are {name: {column: [number …]}}; the header has the texts."""
    with open(path, encoding='utf-8') as file:
        page = file.read()
    assert page.startswith('<!DOCTYPE html>') and page.endswith('</html>\n'), page[-200:]
    assert not re.search(r'''\b(src|href)=["'](?!#|data:)''', page), 'it needs nothing but the file'
    data = gzip.decompress(base64.b64decode(PLACE.search(page).group(1), validate=True))
    magic, version, size = struct.unpack_from('<8sII', data)
    assert (magic, version) == (b'DXGKVIEW', 1), (magic, version)
    header = json.loads(data[16:16 + size])
    tables = {name: {of: column(data, 16 + size + at, table['rows']) for of, at in table['columns'].items()}
              for name, table in header['tables'].items()}
    return header, tables
