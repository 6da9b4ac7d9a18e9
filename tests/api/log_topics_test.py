#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""log_topics_test.py - the topics of DXGK_LOG are those of opendxgk(7), and print what it shows.

usage: log_topics_test.py path-of-dxgk path-of-project
"""

import json
import os
import re
import subprocess
import sys

DXGK, PROJECT = sys.argv[1:3]
sys.path.insert(0, os.path.join(PROJECT, 'tools'))
import tap  # noqa: E402
import tree  # noqa: E402

# Which run the example of a topic is of.
SCRIPTS = {'refusals': 'destroy_while_busy', 'driver': 'first_fill', 'start': 'first_fill',
           'calls': 'first_fill'}


def shown():
    """{topic: [example line, ...]}, as the page has it."""
    page = tree.read(PROJECT, 'docs/man/opendxgk.7.scd')
    section = re.search(r'^# LOG TOPICS$(.*?)^# ', page, re.MULTILINE | re.DOTALL).group(1)
    blocks = re.findall(r'^\*(\w+)\*\n\t.*?\n```\n(.*?)^```$', section, re.MULTILINE | re.DOTALL)
    return {topic: lines.splitlines() for topic, lines in blocks}


def in_the_source():
    table = re.search(r'topic_names\[\w+\] = \{(.*?)\};', tree.read(PROJECT, 'src/base/log.c'),
                      re.DOTALL).group(1)
    return re.findall(r'"(\w+)"', table)


def run(root, topic, registry):
    path = os.path.join(root, 'profile.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'adapters': [{'driver': 'soft', 'registry': registry}]}, file)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    environment.update(DXGK_LOG=topic, DXGK_PROFILE=path)
    script = os.path.join(PROJECT, 'examples', SCRIPTS.get(topic, 'first_fill') + '.dxgk')
    return subprocess.run([DXGK, 'run', script], env=environment, capture_output=True, text=True,
                          check=False, timeout=60).stderr.splitlines()


def shape(line):
    """A line without what differs from run to run: numbers other than those of registry values."""
    return re.sub(r'0x[0-9a-f]+|\b\d+\b', 'N', line)


def test_the_page_shows_every_topic_and_no_other(_):
    assert sorted(shown()) == sorted(in_the_source()), (shown(), in_the_source())
    assert all(shown().values()), shown()


def test_the_lines_of_the_page_are_printed(root):
    for topic, lines in shown().items():
        # A driver that does not like its settings has something to say.
        printed = run(root, topic, {'LocalMemoryMiB': 0 if topic == 'driver' else 64})
        for line in lines:
            assert shape(line) in map(shape, printed), (topic, line, printed)


def test_a_topic_prints_nothing_of_another(root):
    for topic in shown():
        others = {shape(line) for other, lines in shown().items() if other != topic
                  for line in lines}
        printed = set(map(shape, run(root, topic, {'LocalMemoryMiB': 64})))
        assert not printed & others, (topic, printed & others)


def test_who_misspells_one_is_told_all_of_them(root):
    said = '\n'.join(run(root, 'refusal', {}))
    listed = re.search(r'"refusal" is not a topic \((.*?)\)', said)
    assert listed and listed.group(1).split(', ') == in_the_source() + ['all'], said


tap.run_tests(globals())
