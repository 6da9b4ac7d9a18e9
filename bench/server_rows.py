# SPDX-License-Identifier: MIT
"""server_rows.py - what is promised of calls to a server."""

import os
import statistics

from measure import numbers, quiet, run


def of_client(build, program, *arguments):
    """Rounds of a program that starts a dxgkd of its own."""
    return numbers(run([os.path.join(build, 'bench', program),
                        os.path.join(build, 'server', 'dxgkd'), *arguments], build))


def bench_server_ways(build):
    """A call that does nothing, beside the barest ways from process to process; each at its quiet
    ones: who is on the machine besides adds to some of them."""
    rows = []
    for how, rounds, bare, bare_goal, socket_goal in (
            ('awake', '401', 'two words looked at', 1.5, 0.3),
            ('one', '201', 'two words slept on, one core', 1.3, 0.8),
            ('apart', '41', 'two words slept on, two cores', 1.3, None)):
        if how != 'one' and len(os.sched_getaffinity(0)) < 2:
            rows.append({'what': f'null call / {bare}', 'unit': 'skipped: one processor',
                         'value': 0})
            continue
        ours, words, socket = (quiet(times) for times in
                               zip(*of_client(build, 'server_calls', how, rounds)))
        row = {'what': '  / a socket', 'unit': 'times', 'value': ours / socket}
        rows += [{'what': f'null call, {how}', 'unit': 'ns', 'value': ours},
                 {'what': f'  / {bare}', 'unit': 'times', 'value': ours / words,
                  'goal': bare_goal},
                 {**row, 'goal': socket_goal} if socket_goal else row]
    return rows


def bench_server_calls(build):
    """The same call in the server and in the embedded kernel, in turn."""
    if len(os.sched_getaffinity(0)) < 2:
        return [{'what': 'calls to the server', 'unit': 'skipped: one processor', 'value': 0}]
    # Where their pages lie makes one server faster than the next: so several.
    rounds = [row for _ in range(3) for row in of_client(build, 'server_calls', 'calls', '201')]
    null, pair, pair_here, resident, resident_here, state, state_here, wait, wait_here = (
        quiet(times) for times in zip(*rounds))
    return [
        {'what': 'pair in the server', 'unit': 'ns', 'value': pair},
        {'what': '  / embedded and two null calls', 'unit': 'times', 'goal': 1.0,
         'value': pair / (pair_here + 2 * null)},
        {'what': 'MakeResident of what is, in the server', 'unit': 'ns', 'value': resident},
        {'what': '  / embedded and one null call', 'unit': 'times',
         'value': resident / (resident_here + null)},
        {'what': 'GetDeviceState, server / embedded', 'unit': 'times', 'goal': 1.5,
         'value': state / state_here},
        {'what': 'wait for what is reached, likewise', 'unit': 'times', 'goal': 1.5,
         'value': wait / wait_here},
    ]


def bench_server_clients(build):
    """Pairs of several processes on one adapter."""
    def best(rounds, clients, column):
        return max(row[column] for row in rounds if row[0] == clients)

    def usual(rounds, clients):
        """Pairs of a second of a processor, when nobody else has the machine's processors or their caches."""
        return 1 / quiet([1 / row[3] for row in rounds if row[0] == clients])

    processors = len(os.sched_getaffinity(0))
    few = of_client(build, 'server_clients', '100', '15', '1', '2', '4')
    many = of_client(build, 'server_clients', '200', '25', '4', '8', '16', '32', '64')
    totals = {clients: usual(many, clients) for clients in (4, 8, 16, 32, 64)}
    # One client and its thread in the server keep two processors.
    two = (best(few, 2, 1) / best(few, 1, 1) if processors >= 4
           else usual(few, 2) / usual(few, 1))
    waits, pairs = (sum(row[column] for row in few if row[0] == 2) for column in (4, 5))
    return [
        # Of the server's threads, all locks of the kernel and of the driver's line.
        {'what': 'locks waited for, two clients', 'unit': 'of a million pairs', 'goal': 0,
         'value': waits / pairs * 1e6},
        {'what': 'two clients / one, pairs', 'unit': 'times', 'is_at_least': True,
         'goal': 1.8 if processors >= 4 else 0.9, 'value': two},
        # Of four that do nothing else a client has a quarter of the processors: so of its speed.
        {'what': 'a client beside three / its share', 'unit': 'times', 'is_at_least': True,
         'goal': 0.9, 'value': best(few, 4, 2) / (best(few, 1, 1) * min(1.0, processors / 8))},
        {'what': '64 clients / the best of 4 to 64', 'unit': 'times', 'is_at_least': True,
         'goal': 0.9, 'value': totals[64] / max(totals.values())},
    ]


def bench_server_visitor(build):
    """Two calls, made every few milliseconds beside three clients that call all the time. Who is let in at once
    waits as long as alone; who is not, for a turn of another's at each of its calls (server/gang.c)."""
    turn_ns = 2e6
    alone, beside = (sorted(times) for times in
                     zip(*of_client(build, 'server_visitor', '300', '3')))
    return [
        {'what': 'a visit beside three clients / alone', 'unit': 'times', 'goal': 2.0,
         'value': statistics.median(beside) / statistics.median(alone)},
        {'what': '  one in ten is late by', 'unit': 'turns', 'goal': 2.0,
         'value': max(0, beside[len(beside) * 9 // 10] - statistics.median(alone)) / turn_ns},
    ]
