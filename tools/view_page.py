#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""view_page.py - the page of `dxgk view` as two arrays of C, before and behind its data.

usage: view_page.py OUTPUT page.html page.css script.js …
"""
import pathlib
import re
import sys


def smaller(script):
    """Without comments of whole lines, indentation and empty lines: what a browser does not need."""
    lines = (line.strip() for line in script.splitlines())
    return '\n'.join(line for line in lines if line and not line.startswith('//') and line != "'use strict';")


def array(name, text):
    data = text.encode()
    rows = (', '.join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24))
    return f'static const unsigned char {name}[] = {{\n' + ',\n'.join(rows) + '\n};\n'


def main():
    output, page, style, *scripts = map(pathlib.Path, sys.argv[1:])
    html = page.read_text(encoding='utf-8')
    html = html.replace('@STYLE@', re.sub(r'\s*\n\s*', '\n', style.read_text(encoding='utf-8')).strip())
    code = "'use strict';\n" + '\n'.join(smaller(script.read_text(encoding='utf-8')) for script in scripts)
    if '</script' in code or html.count('@DATA@') != 1:
        raise SystemExit('view_page.py: the page would end in the middle')
    before, after = html.replace('@SCRIPT@', code).split('@DATA@')
    output.write_text(array('view_page_before', before) + array('view_page_after', after), encoding='utf-8')


main()
