#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads <dxg/ntstatus.h>, prints { value, "NAME" } lines sorted by value, one name per value.

Where several names share a value (STATUS_SUCCESS and STATUS_WAIT_0) the first in the header wins.
"""
import re
import sys

names = {}
pattern = re.compile(r"#define\s+(STATUS_\w+)\s+\(\(NTSTATUS\)\s*(0x[0-9A-Fa-f]+|\d+)[UuLl]*\)")
with open(sys.argv[1], encoding="utf-8") as header:
    for line in header:
        match = pattern.match(line)
        if match:
            names.setdefault(int(match.group(2), 0), match.group(1))
if not names:
    sys.exit(f"{sys.argv[1]}: no status found")
with open(sys.argv[2], "w", encoding="utf-8") as out:
    for value in sorted(names):
        out.write(f'\t{{ 0x{value:08x}u, "{names[value]}" }},\n')
