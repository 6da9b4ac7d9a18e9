#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""build_dll.py - compiles a DLL that Wine takes for one of its own kind.

usage: build_dll.py output depfile compiler argument...

Wine looks for a Unix library beside a DLL only when the space behind the DOS header says that the DLL is builtin.
"""

import struct
import subprocess
import sys

DOS_HEADER_BYTES = 64
SIGNATURE = b'Wine builtin DLL'.ljust(32, b'\0')


def main(output, depfile, *command):
    done = subprocess.run([*command, '-MD', '-MF', depfile, '-MT', output, '-o', output], check=False)
    if done.returncode != 0:
        return done.returncode
    with open(output, 'r+b') as file:
        header = file.read(DOS_HEADER_BYTES)
        new_header, = struct.unpack_from('<I', header, 60)
        if header[:2] != b'MZ' or new_header < DOS_HEADER_BYTES + len(SIGNATURE):
            print(f'{output}: has no room for the signature of a builtin', file=sys.stderr)
            return 1
        file.seek(DOS_HEADER_BYTES)
        file.write(SIGNATURE)
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
