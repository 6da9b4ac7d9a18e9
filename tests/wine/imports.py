#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""imports.py - import libraries for D3DKMT, as the SDK has them.

usage: imports.py dlltool apisets.txt gdi32|apisets folder output

`gdi32`: all names from gdi32.dll. `apisets`: each name from the set that has it, a library for each in `folder`. The output
names them, one per line, for a compiler's @file.
"""

import os
import subprocess
import sys


def rows(path):
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.strip() and not line.startswith('#'):
                yield line.split()


def main(dlltool, names, way, folder, output):
    dlls = {}
    for number, name, _ in rows(names):
        dll = 'gdi32' if way == 'gdi32' or number == '-' else f'api-ms-win-dx-d3dkmt-l1-1-{number}'
        dlls.setdefault(dll, []).append('D3DKMT' + name)
    # Later than the list.
    dlls.setdefault('gdi32', []).extend(['D3DKMTRegisterBudgetChangeNotification', 'D3DKMTUnregisterBudgetChangeNotification'])
    os.makedirs(folder, exist_ok=True)
    made = []
    for dll, exports in dlls.items():
        definition = os.path.join(folder, dll + '.def')
        library = os.path.abspath(os.path.join(folder, f'lib{dll}.a'))
        with open(definition, 'w', encoding='utf-8') as file:
            file.write(f'LIBRARY {dll}.dll\nEXPORTS\n' + '\n'.join(exports) + '\n')
        subprocess.run([dlltool, '-d', definition, '-l', library], check=True)
        made.append(library)
    with open(output, 'w', encoding='utf-8') as file:
        file.write('\n'.join(made) + '\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
