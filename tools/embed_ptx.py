#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PTX that clang made of C, as a string in C.

C has no word for a kernel: a function with one of the given names becomes an entry point here, in the text. The two differ
in that word alone.

usage: embed_ptx.py IN.ptx OUT.c SYMBOL KERNEL...
"""
import re
import sys


def main(source, target, symbol, *kernels):
    with open(source, encoding='ascii') as file:
        text = file.read()
    for kernel in kernels:
        text, count = re.subn(rf'^\.visible \.func {kernel}\(', f'.visible .entry {kernel}(', text, flags=re.MULTILINE)
        if count != 1:
            sys.exit(f'{source}: {count} functions are called {kernel}')
    lines = [line.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t') for line in text.splitlines()]
    with open(target, 'w', encoding='ascii') as file:
        file.write(f'/* Made by tools/embed_ptx.py. */\nextern const char {symbol}[];\nconst char {symbol}[] =\n')
        file.writelines(f'\t"{line}\\n"\n' for line in lines)
        file.write('\t;\n')


main(*sys.argv[1:])
