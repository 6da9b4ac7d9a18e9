# SPDX-License-Identifier: MIT
"""What a driver says in a marker is an event of a trace, and printed among its callbacks where these are."""
import json
import os
import subprocess
import sys
import tempfile

CALLBACKS, TOOLS = sys.argv[1:3]
sys.path.insert(0, TOOLS)
import tap


def run(**settings):
    """The tests of all callbacks."""
    ran = subprocess.run([CALLBACKS], text=True, capture_output=True, timeout=60, check=False, env=dict(os.environ, **settings))
    assert ran.returncode == 0, ran.stdout
    return ran


def said(topics):
    """What is printed with these topics of DXGK_LOG."""
    return [line for line in run(DXGK_LOG=topics).stderr.splitlines() if line.startswith('dxgkumd: marker')]


def test_a_marker_is_printed_among_calls(_):
    assert 'dxgkumd: marker "here", call 0 of the API, index -1' in said('calls')


def test_a_marker_is_not_printed_among_refusals(_):
    assert not said('refusals')


def test_markers_are_events_of_a_trace(_):
    with tempfile.TemporaryDirectory(prefix='marker-') as folder:
        path = os.path.join(folder, 'trace.json')
        run(DXGK_TRACE=path)
        with open(path, encoding='utf-8') as file:
            markers = [event['args'] for event in json.load(file)['traceEvents'] if event.get('name') == 'marker']
    assert [marker['text'] for marker in markers] == ['here', '', 'é' * 126], markers
    here, silent, _ = markers
    assert (here['api_sequence'], here['index'], here['string_index']) == (0, '0xffffffff', '0x0'), here
    assert (silent['api_sequence'], silent['index'], silent['string_index']) == (2 ** 40, '0x3', '0x4'), silent
    assert len({(marker['process_id'], marker['device_handle']) for marker in markers}) == 1, markers
    assert here['process_id'] != 0 and here['device_handle'] != '0x0', here


tap.run_tests(globals())
