#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a trace file the way a viewer does and says what is wrong with it.

check_trace.py FILE [CATEGORY=COUNT …]: every END closes the newest BEGIN of its thread, every async
end closes an open begin of the same category, id and name, time never goes back, every thread that
emits has a name. COUNT is how many events the category has to have.
"""
import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file)
if set(trace) != {"traceEvents", "displayTimeUnit"} or trace["displayTimeUnit"] != "ns":
    sys.exit("the outer object is not a trace")

stacks = collections.defaultdict(list)
alive = {}
flows = set()
named = set()
counts = collections.Counter()
last_ts = -1.0
for number, event in enumerate(trace["traceEvents"]):
    where = f"event {number} {event}"
    phase = event["ph"]
    thread = (event["pid"], event["tid"])
    if phase == "M":
        if event["name"] == "thread_name":
            if thread in named:
                sys.exit(f"{where}: named twice")
            named.add(thread)
        continue
    counts[event["cat"]] += 1
    if phase not in "beC" and thread not in named:
        sys.exit(f"{where}: its thread has no name")
    if event["ts"] < last_ts:
        sys.exit(f"{where}: earlier than the event before")
    last_ts = event["ts"]
    if phase == "B":
        stacks[thread].append(event["cat"])
    elif phase == "E":
        if "name" in event:
            sys.exit(f"{where}: an end with a name closes only a begin of that name")
        if not stacks[thread] or stacks[thread].pop() != event["cat"]:
            sys.exit(f"{where}: closes what is not open")
    elif phase in "be":
        key = (event["cat"], event["id"], event["name"])
        if (phase == "b") == (key in alive):
            sys.exit(f"{where}: {'begins twice' if phase == 'b' else 'ends without a begin'}")
        if phase == "b":
            alive[key] = event
        else:
            del alive[key]
    elif phase in "stf":
        if (phase == "s") == (event["id"] in flows):
            sys.exit(f"{where}: {'begins twice' if phase == 's' else 'goes on without a begin'}")
        if phase == "s":
            flows.add(event["id"])
        elif phase == "f":
            flows.remove(event["id"])
    elif phase not in "iC":
        sys.exit(f"{where}: unknown phase")

for argument in sys.argv[2:]:
    if argument == "closed":
        if alive or any(stacks.values()):
            sys.exit(f"left open: {list(alive)} {dict(stacks)}")
        continue
    category, count = argument.split("=")
    if counts[category] != int(count):
        sys.exit(f"{counts[category]} events of {category}, expected {count}")
