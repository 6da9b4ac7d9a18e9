#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the *.tmh files that sources traced with WPP include.

    wpp_tmh.py --output-dir DIR [--func 'DbgPrint(LEVEL, (MSG, ...))'] source.cpp... header.h...

WPP describes trace macros in comments only, between begin_wpp config and end_wpp:

    // FUNC LOG_ERROR{LEVEL=TRACE_LEVEL_ERROR,FLAGS=DEFAULT}(MSG, ...)
    // FUNC TraceEvents(LEVEL, FLAGS, MSG, ...)
    // FUNC DbgPrint{FLAG=ALL}(LEVEL, (MSG, ...))
    // FUNC MY_ASSERT{LEVEL=TRACE_LEVEL_ERROR,FLAGS=DEBUG}(MY_EXP)

The comments of all given files are read; --func adds what a project tells WPP on its command line.
For every .c, .cc, .cpp and .cxx file a DIR/<name>.tmh is written that defines all macros found, on top
of OpendxgkWppTrace() of ddk/WppRecorder.h. Prefixes and suffixes are dropped, because the host prints
the function's name in front of every message.

A parameter with a name of its own is a condition, as in MY_ASSERT: the message is written when
WPP_RECORDER_LEVEL_FLAGS_MY_EXP_FILTER(level, flags, expression) of the source says so. Without such a
macro the argument is evaluated, and the message is always written. What the source wants done after
a message, WPP_LEVEL_FLAGS_POST(level, flags) and its kind, is done.
"""
import argparse
import os
import re
import sys

FUNC = re.compile(
    r'^\s*(?://|\*|/\*)?\s*(?:FUNC\s+)?(?P<name>[A-Za-z_]\w*)\s*'
    r'(?:\{(?P<constants>[^}]*)\})?\s*'
    r'\((?P<parameters>[^()]*(?:\([^()]*\)\s*)?)\)\s*;?\s*$')
SOURCE_SUFFIXES = ('.c', '.cc', '.cpp', '.cxx')
# What the preprocessor of the WDK knows without being told.
BUILT_IN = [('DoTraceMessage', {}, 'FLAGS, MSG, ...'),
            ('DoTraceLevelMessage', {}, 'LEVEL, FLAGS, MSG, ...')]
# Parameters that mean something to WPP itself.
KNOWN = ('LEVEL', 'FLAG', 'FLAGS', 'MSG', '...')


class Mistake(Exception):
    """A comment that looks like a trace function but is none."""


def parse_function(text):
    """(name, constants, parameters as written), or None."""
    match = FUNC.match(text)
    if not match:
        return None
    constants = {}
    for item in filter(None, (match['constants'] or '').split(',')):
        key, _, value = item.partition('=')
        constants[key.strip()] = value.strip()
    return match['name'], constants, match['parameters']


def read_functions(path):
    """The trace functions that the comments of one file declare."""
    functions = []
    inside = False
    with open(path, encoding='utf-8', errors='replace') as source:
        for number, line in enumerate(source, 1):
            if 'begin_wpp' in line and 'config' in line:
                inside = True
            elif 'end_wpp' in line:
                inside = False
            elif inside:
                # Trees exist that leave the keyword out; the braces tell it from a sentence.
                if re.match(r'^\s*//\s*(FUNC\b|\w+\s*\{)', line) and parse_function(line):
                    functions.append(parse_function(line))
                elif re.match(r'^\s*//\s*FUNC\b', line):
                    raise Mistake(f'{path}:{number}: expected FUNC NAME{{A=b}}(PARAMETER, ...)')
    return functions


def define(name, constants, parameters):
    """One macro. The message comes with its arguments; a function without one tells its name."""
    nested = re.search(r'\(\s*MSG\s*,\s*\.\.\.\s*\)', parameters)
    if nested:
        parameters = parameters.replace(nested[0], 'MSG')
    parameters = [p.strip() for p in parameters.split(',') if p.strip()]

    own = [p for p in parameters if p not in KNOWN]
    level = 'LEVEL' if 'LEVEL' in parameters else constants.get('LEVEL', 'TRACE_LEVEL_INFORMATION')
    if nested:
        message = 'OPENDXGK_WPP_MESSAGE MSG'
    elif 'MSG' in parameters:
        message = 'MSG' + (', ##__VA_ARGS__' if '...' in parameters else '')
    else:
        # With no message of its own, what is passed has no format either.
        message = ', '.join([f'"{name}(%s)"', f'#{own[0]}'] if own else [f'"{name}"'])

    # WPP names the macros that a source may define after the conditions of the function.
    conditions = [*constants, *(p for p in parameters if p not in ('MSG', '...'))]
    macro = '_'.join(conditions)
    passed = ', '.join([*constants.values(), *(p for p in parameters if p not in ('MSG', '...'))])
    passing, after = f'OPENDXGK_WPP_PASSES_{name}', f'OPENDXGK_WPP_AFTER_{name}'
    listed = ', '.join(parameters)
    text = f'#undef {name}\n#undef {passing}\n#undef {after}\n'
    if own:
        evaluated = ', '.join(f'(void)({p})' for p in own)
        text += (f'#ifdef WPP_RECORDER_{macro}_FILTER\n'
                 f'#define {passing}({", ".join(conditions)}) '
                 f'WPP_RECORDER_{macro}_FILTER({", ".join(conditions)})\n'
                 f'#else\n#define {passing}({", ".join(conditions)}) ({evaluated}, 1)\n#endif\n')
    text += (f'#ifdef WPP_{macro}_POST\n#define {after} WPP_{macro}_POST\n'
             f'#else\n#define {after}(...)\n#endif\n')
    call = f'OpendxgkWppTrace(__FUNCTION__, {level}, {message})'
    if own:
        call = f'{passing}({passed}) ? ({call}, 1) : 0'
    else:
        call = f'{call}, 1'
    return text + f'#define {name}({listed}) \\\n\t((void)(({call}) {after}({passed})))\n'


def tmh_text(functions):
    """What a .tmh file says, given the functions of the files it belongs to."""
    named = {function[0]: function for function in [*BUILT_IN, *functions]}
    text = '/* Generated by wpp_tmh.py. */\n#include "WppRecorder.h"\n\n'
    # The numbers of the flags, for conditions that ask for one.
    text += ('#if defined(WPP_CONTROL_GUIDS) && !defined(OPENDXGK_WPP_BITS)\n'
             '#define OPENDXGK_WPP_BITS\n'
             'enum OpendxgkWppBits { WPP_CONTROL_GUIDS OpendxgkWppBitCount };\n#endif\n\n')
    return text + '\n'.join(define(*function) for function in named.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--output-dir', required=True)
    parser.add_argument('--func', action='append', default=[])
    parser.add_argument('files', nargs='+')
    options = parser.parse_args()

    try:
        functions = [f for path in options.files for f in read_functions(path)]
        for text in options.func:
            function = parse_function(text)
            if not function:
                raise Mistake(f'--func {text}: expected NAME{{A=b}}(PARAMETER, ...)')
            functions.append(function)
    except (Mistake, OSError) as mistake:
        sys.exit(f'wpp_tmh: {mistake}')

    os.makedirs(options.output_dir, exist_ok=True)
    for path in options.files:
        stem, suffix = os.path.splitext(os.path.basename(path))
        if suffix.lower() in SOURCE_SUFFIXES:
            with open(os.path.join(options.output_dir, stem + '.tmh'), 'w', encoding='utf-8') as tmh:
                tmh.write(tmh_text(functions))


if __name__ == '__main__':
    main()
