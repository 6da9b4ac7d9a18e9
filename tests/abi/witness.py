#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do others agree about the structs we declare?

client_abi.def could carry a mistake that our headers share. Wine and mingw-w64 wrote down many of
the same structs independently, so every struct and enum that we and one of them declare is compared:
size, and for each field offset, size or bits. Nothing is run. Both sides compile a probe, a constant
that holds sizeof and offsetof of everything in question and one initialized struct per bit field, and
the constant is read out of the object file.

Differences that have a reason are listed in a file of lines

    group struct item item ... | reason

where an item is `size`, a field or enumerator whose place or value differs, or `-field` for one that
only the witness has (`*` matches any part of a name: we often need only some of a large enum or
union). A field that only we have is none: the witness knows an older interface and is silent. A
difference that is not listed fails, and so does a listed one that is no longer there.

usage: witness.py <include folder> <differences file>
"""
import fnmatch
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

WINE = '/usr/include/wine/wine/windows'
MINGW = '/usr/share/mingw-w64/include'
CROSS = 'x86_64-w64-mingw32-'

# group: what we include and how, what the witness includes and how, which package brings it, the
# header of ours that it is about, and the macros whose values are compared along with the structs
GROUPS = {
    'wine': {
        'ours': (['-std=c17', '-I{include}'], ['dxg/d3dkmthk.h']),
        'theirs': (['-std=gnu17', f'-idirafter{WINE}'],
                   ['windef.h', 'wingdi.h', 'winternl.h', 'ddk/d3dkmthk.h', 'd3dkmdt.h']),
        'needs': {f'{WINE}/ddk/d3dkmthk.h': 'libwine-dev'},
        'only': 'dxg/d3dkmthk.h',
        'macros': r'D3DDDI_\w+|D3DKM\w+|D3DGPU_\w+',
    },
    'mingw-status': {
        'ours': (['-std=c17', '-I{include}'], ['dxg/ntstatus.h']),
        'theirs': (['-std=gnu17'], ['windef.h', 'winternl.h', 'ntstatus.h']),
        'needs': {f'{MINGW}/ntstatus.h': 'mingw-w64-common'},
        'only': 'dxg/ntstatus.h',
        'macros': r'STATUS_\w+',
    },
    'mingw-ddk': {
        'ours': (['-std=c17', '-ffreestanding', '-fshort-wchar', '-I{include}/ddk',
                  '-I{include}/dxg'], ['ntddk.h']),
        'theirs': (['-std=gnu17', f'-I{MINGW}/ddk'], ['ntddk.h']),
        'needs': {f'{MINGW}/ddk/ntddk.h': 'mingw-w64-common'},
        'only': 'ddk/ntddk.h',
        'macros': r'MDL_\w+|\w+_LEVEL|REG_\w+|KEY_\w+|IRP_M[JN]_\w+|FILE_DEVICE_\w+|'
                  r'PCI_\w+|CM_RESOURCE_\w+|DEVICE_DESCRIPTION_\w+',
    },
}
TOKEN = re.compile(r'"(?:\\.|[^"])*"|\w+|\.\.\.|[^\s\w]')


def closing(tokens, start):
    """Index of the bracket that closes the one at `start`."""
    opening, closer = tokens[start], {'{': '}', '(': ')', '[': ']'}[tokens[start]]
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index] == opening) - (tokens[index] == closer)
        if not depth:
            return index
    raise ValueError('unbalanced ' + opening)


def without_attributes(tokens):
    out, index = [], 0
    while index < len(tokens):
        if tokens[index] in ('__attribute__', '__declspec', '_Alignas', '__asm__'):
            index = closing(tokens, tokens.index('(', index)) + 1
        elif tokens[index] in ('__extension__', 'const', 'volatile', '__restrict'):
            index += 1
        else:
            out.append(tokens[index])
            index += 1
    return out


def declarator_name(tokens):
    """Name that a declarator gives: the last word outside of brackets, or the one in (*name)."""
    for index, token in enumerate(tokens):
        if token == '(' and index + 1 < len(tokens) and '*' in tokens[index + 1:index + 4]:
            words = [t for t in tokens[index:closing(tokens, index)] if t[0].isalpha() or t[0] == '_']
            return words[-1] if words else None
    name, depth = None, 0
    for token in tokens:
        depth += (token in '[(') - (token in '])')
        if not depth and (token[0].isalpha() or token[0] == '_'):
            name = token
    return name


def split(tokens, separator):
    parts, part, depth = [], [], 0
    for token in tokens:
        depth += (token in '{([') - (token in '})]')
        if token == separator and not depth:
            parts.append(part)
            part = []
        else:
            part.append(token)
    return parts + [part]


def members(tokens, prefix=''):
    """(path, is a bit field) of each member of a struct body, unnamed structs flattened."""
    for part in split(tokens, ';'):
        if not part:
            continue
        if part[0] in ('struct', 'union') and '{' in part:
            start = part.index('{')
            end = closing(part, start)
            names = [declarator_name(piece) for piece in split(part[end + 1:], ',')]
            if not any(names):
                yield from members(part[start + 1:end], prefix)
            for name in filter(None, names):
                yield prefix + name, False
                if '[' not in part[end + 1:]:
                    yield from members(part[start + 1:end], prefix + name + '.')
            continue
        if part[0] == 'enum' and '{' in part:
            part = ['int'] + part[closing(part, part.index('{')) + 1:]
        for number, piece in enumerate(split(part, ',')):
            is_bits = ':' in piece
            words = piece[:piece.index(':')] if is_bits else piece
            if number == 0 and len(words) < 2:
                continue
            name = declarator_name(words)
            # `UINT : 0` names nothing but a type.
            if is_bits and number == 0 and len([w for w in words if re.match(r'\w', w)]) < 2:
                continue
            if name:
                yield prefix + name, is_bits


def declared(text):
    """Structs {name: members} and enums {name: enumerators} of preprocessed C."""
    tokens = without_attributes(TOKEN.findall(text))
    bodies, aliases, structs, enums = {}, [], {}, {}
    index = 0
    while index < len(tokens):
        typedef = tokens[index] == 'typedef'
        here = index + typedef
        if here < len(tokens) and tokens[here] in ('struct', 'union', 'enum'):
            kind, tag = tokens[here], None
            here += 1
            if re.match(r'\w', tokens[here]):
                tag = tokens[here]
                here += 1
            if tokens[here] == '{':
                end = closing(tokens, here)
                body = tokens[here + 1:end]
                finish = end
                while tokens[finish] != ';' and tokens[finish] != '(':
                    finish += 1
                if kind == 'enum':
                    value = [part[0] for part in split(body, ',') if part]
                else:
                    value = list(members(body))
                if tag:
                    bodies[kind, tag] = value
                if typedef:
                    for piece in split(tokens[end + 1:finish], ','):
                        if piece and len(piece) == 1:
                            (enums if kind == 'enum' else structs)[piece[0]] = value
                index = finish
                continue
            if typedef and tag and tokens[here + 1] in ';,':
                aliases.append((kind, tag, tokens[here]))
        index += 1
    for kind, tag, name in aliases:
        if (kind, tag) in bodies and name not in structs:
            (enums if kind == 'enum' else structs).setdefault(name, bodies[kind, tag])
    return structs, enums


def preprocess(compiler, flags, includes, folder):
    source = pathlib.Path(folder) / 'all.c'
    source.write_text(''.join(f'#include <{name}>\n' for name in includes))
    return subprocess.run([compiler, *flags, '-w', '-E', str(source)], check=True,
                          capture_output=True, text=True).stdout


def macros(text, pattern):
    return set(re.findall(r'^#define (%s) (?=\S)' % pattern, text, re.M))


def measure(prefix, flags, includes, structs, enums, folder):
    """Compile the probe and read the layouts back: {name: {item: number or tuple}}."""
    numbers, sizes, bit_fields = [], {}, []
    for name, fields in structs.items():
        sizes[name] = len(numbers)
        numbers.append(f'sizeof({name})')
        for path, is_bits in fields:
            if is_bits:
                bit_fields.append((name, path))
            else:
                numbers.append(f'__builtin_offsetof({name}, {path})')
                numbers.append(f'sizeof((({name} *)0)->{path})')
    enum_start = len(numbers)
    enumerators = [(name, item) for name, items in enums.items() for item in items]
    numbers += [f'(unsigned long long)(unsigned)({item})' for _, item in enumerators]

    lines = [f'#include <{name}>' for name in includes]
    lines.append('__attribute__((section(".probe"), used)) const struct __attribute__((packed)) {')
    lines.append(f'\tunsigned long long numbers[{len(numbers)}];')
    lines += [f'\t{name} bits{i};' for i, (name, _) in enumerate(bit_fields)]
    lines.append('} probe = { .numbers = {')
    lines += [f'\t{number},' for number in numbers]
    lines.append('},')
    lines += [f'\t.bits{i} = {{ .{path} = -1 }},' for i, (_, path) in enumerate(bit_fields)]
    lines.append('};')
    source, obj, raw = (pathlib.Path(folder) / name for name in ('p.c', 'p.o', 'p.bin'))
    source.write_text('\n'.join(lines) + '\n')
    subprocess.run([prefix + 'gcc', *flags, '-w', '-c', str(source), '-o', str(obj)], check=True)
    subprocess.run([prefix + 'objcopy', '-O', 'binary', '-j', '.probe', str(obj), str(raw)],
                   check=True)
    data = raw.read_bytes()
    values = struct.unpack_from(f'<{len(numbers)}Q', data)

    layouts = {}
    for name, fields in structs.items():
        at = sizes[name]
        layouts[name] = {'size': values[at]}
        at += 1
        for path, is_bits in fields:
            if not is_bits:
                layouts[name][path] = ('bytes', values[at], values[at + 1])
                at += 2
    at = 8 * len(numbers)
    for name, path in bit_fields:
        size = layouts[name]['size']
        bits = int.from_bytes(data[at:at + size], 'little')
        at += size
        layouts[name][path] = ('bits', (bits & -bits).bit_length() - 1, bin(bits).count('1'))
    for (name, item), value in zip(enumerators, values[enum_start:]):
        layouts.setdefault(name, {})[item] = value
    return layouts


def shown(value):
    if value is None:
        return 'absent'
    if isinstance(value, tuple):
        kind, first, count = value
        return f'{first}+{count} {kind}'
    return str(value)


def read_known(path):
    known = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith('#'):
            continue
        what, bar, reason = line.partition('|')
        words = what.split()
        if not bar or not reason.strip() or len(words) < 3:
            sys.exit(f'{path}:{number}: expected `group struct items | reason`')
        known[words[0], words[1]] = set(words[2:])
    return known


def compare(group, include, known, report):
    spec = GROUPS[group]
    if not (include / spec['only']).exists():
        report(f'{group}: we do not declare these yet', skip=f'{spec["only"]} is not there')
        return
    for path, package in list(spec['needs'].items()):
        if not pathlib.Path(path).exists():
            report(f'{group}: the witness', skip=f'install {package}')
            return
    if not shutil.which(CROSS + 'gcc'):
        report(f'{group}: the witness', skip='install gcc-mingw-w64-x86-64')
        return
    sides = []
    with tempfile.TemporaryDirectory() as folder:
        for prefix, side in (('', 'ours'), (CROSS, 'theirs')):
            flags, includes = spec[side]
            flags = [flag.format(include=include) for flag in flags]
            structs, enums = declared(preprocess(prefix + 'gcc', flags + ['-P'], includes, folder))
            names = macros(preprocess(prefix + 'gcc', flags + ['-dM'], includes, folder),
                           spec['macros'])
            sides.append((prefix, flags, includes, structs, enums, names))
        same_macros = sorted(sides[0][5] & sides[1][5])
        for side in sides if same_macros else ():
            side[4]['macros'] = same_macros
        common = set(sides[0][3]) & set(sides[1][3]), set(sides[0][4]) & set(sides[1][4])
        layouts = [measure(prefix, flags, includes,
                           {name: structs[name] for name in sorted(common[0])},
                           {name: enums[name] for name in sorted(common[1])}, folder)
                   for prefix, flags, includes, structs, enums, _ in sides]
    if not common[0] | common[1]:
        report(f'{group}: there is something to compare', ['nothing in common'])
    for name in sorted(common[0] | common[1]):
        ours, theirs = layouts[0][name], layouts[1][name]
        differences = {}
        for item in theirs:
            if ours.get(item) != theirs[item]:
                mark = '' if item in ours else '-'
                differences[mark + item] = f'{shown(ours.get(item))}, theirs {shown(theirs[item])}'
        expected = known.pop((group, name), set())
        explained = {item for item in differences
                     if any(fnmatch.fnmatchcase(item, pattern) for pattern in expected)}
        notes = [f'{item}: ours {text}' for item, text in differences.items()
                 if item not in explained]
        notes += [f'{pattern}: listed as different, but is not' for pattern in sorted(expected)
                  if not fnmatch.filter(differences, pattern)]
        agreed = len(set(ours) & set(theirs)) - len([d for d in differences if d[0] != '-'])
        report(f'{group}: {name}, {agreed} agree' +
               (f', {len(explained)} differ for a known reason' if explained else ''), notes)


def main():
    include, differences = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    known = read_known(differences)
    results = []

    def report(claim, notes=(), skip=None):
        results.append((claim, list(notes), skip))

    skipped = set()
    for group in GROUPS:
        before = len(results)
        compare(group, include, known, report)
        if any(skip for _, _, skip in results[before:]):
            skipped.add(group)
    stale = sorted(' '.join(key) for key in known if key[0] not in skipped)
    report('every listed difference is about a struct both declare',
           [f'{name}: nobody to compare with' for name in stale])

    print(f'1..{len(results)}')
    for number, (claim, notes, skip) in enumerate(results, 1):
        for note in notes:
            print('# ' + note)
        print(f"{'not ok' if notes else 'ok'} {number} - {claim}" + (f' # SKIP {skip}' if skip else ''))
    return any(notes for _, notes, _ in results)


if __name__ == '__main__':
    sys.exit(main())
