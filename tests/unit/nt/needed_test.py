#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel library starts without the libraries that only reports use.

    needed_test.py <libdxgk.so>
"""
import subprocess
import sys

needed = [line.split("[")[1].rstrip("]") for line in
          subprocess.run(["readelf", "-d", sys.argv[1]], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.splitlines() if "(NEEDED)" in line]
unwanted = [name for name in needed if name.startswith(("libdw", "libelf", "libstdc++", "libc++"))]
print("1..1")
print(f"{'not ok' if unwanted or not needed else 'ok'} 1 - needs {', '.join(needed)}")
sys.exit(1 if unwanted or not needed else 0)
