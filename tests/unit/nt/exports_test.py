#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every routine that the driver headers declare exists, so that a driver that links also loads.

usage: exports_test.py include/ddk libnt.a
"""
import pathlib
import re
import subprocess
import sys

MARK = "NTKERNELAPI"


def declared(folder):
    """(name, header) of everything marked as exported by the kernel."""
    for header in sorted(pathlib.Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.M)
        for declaration in re.findall(MARK + r"([^;{]*)[;{]", text):
            routine = re.search(r"(\w+)\s*\((?!\()", declaration)
            name = routine or re.search(r"(\w+)\s*$", declaration)
            yield name.group(1), header.name


def defined(library):
    listing = subprocess.run(["nm", "-g", "--defined-only", library], check=True,
                             capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listing.splitlines() if len(line.split()) == 3}


def main():
    names = dict(declared(sys.argv[1]))
    missing = sorted(set(names) - defined(sys.argv[2]))
    is_good = not missing and len(names) >= 300
    print("1..1")
    for name in missing:
        print(f"# {names[name]} declares {name}, and nobody defines it")
    print(f"{'ok' if is_good else 'not ok'} 1 - all {len(names)} routines of the headers are defined")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
