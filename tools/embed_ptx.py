#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PTX that clang made of C, as a string in C.

C has no word for a kernel: a function with one of the given names becomes an entry point here, in the text. The two differ
in that word alone, and in what C cannot say either: KERNEL:256:3 is one whose blocks have at most 256 threads, and of which three have
to find room on a processor of the GPU, which decides how many registers each thread may have.

usage: embed_ptx.py IN.ptx OUT.c SYMBOL KERNEL[:THREADS:BLOCKS]...
"""
import re
import sys


def main(source, target, symbol, *kernels):
    with open(source, encoding='ascii') as file:
        text = file.read()
    for kernel in kernels:
        kernel, *room = kernel.split(':')
        limits = '.maxntid {}, 1, 1\n.minnctapersm {}\n'.format(*room) if room else ''
        text, count = re.subn(rf'^\.visible \.func {kernel}(\([^)]*\)\s*)(?=^{{)', rf'.visible .entry {kernel}\1{limits}', text, flags=re.MULTILINE)
        if count != 1:
            sys.exit(f'{source}: {count} functions are called {kernel}')
    lines = [line.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t') for line in text.splitlines()]
    with open(target, 'w', encoding='ascii') as file:
        file.write(f'/* Made by tools/embed_ptx.py. */\nextern const char {symbol}[];\nconst char {symbol}[] =\n')
        file.writelines(f'\t"{line}\\n"\n' for line in lines)
        file.write('\t;\n')


main(*sys.argv[1:])
