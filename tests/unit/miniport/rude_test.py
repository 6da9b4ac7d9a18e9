#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the author of a driver is told when it does what no driver may do.

    rude_test.py <rude_host> <rude.so>

Each case runs the rude driver in a process of its own and compares what that said, and how it
ended, with what a driver author needs: rule, entry point, lock or address, and the driver's lines.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile

HOST, DRIVER = (os.path.abspath(name) for name in sys.argv[1:3])
LINE = r"\(.*rude\.c:\d+\) in rude\.so"
ENTRY = rf"dxgk:   at rude_escape {LINE}\n"
DONE = "host: done\n$"


def crash(name, what, function, extra=""):
    return [rf"driver: {name} in DxgkDdiEscape: {what} \(DDI-CRASH\)\n",
            r"dxgk:   with .*PrivateDriverDataSize 8\n" + extra + rf"dxgk:   at {function} {LINE}\n", ENTRY]


def held(what, function):
    return [rf"driver: DxgkDdiEscape returned and still holds the {what} 0x[0-9a-f]+, "
            rf"taken at {function} {LINE} \(DDI-LOCK-HELD\)\n",
            rf"dxgk:   after rude_escape {LINE}\n", DONE]


# arguments, environment, how it ends, what it says, what it must not say
IRQL = {"DXGK_VERIFY": "irql"}
CASES = {
    "nothing to tell": (["nothing", "take_all", "take_all"], {}, 0, [r"^" + DONE], []),
    # Again after the report: it was released, or this would wait for ever.
    "spin lock": (["hold_spin_lock", "take_all"], {}, 0, held("spin lock", "hold_spin_lock"), ["IRQL-RETURN"]),
    "queued spin lock": (["hold_queued_spin_lock", "take_all"], {}, 0,
                         held("spin lock", "hold_queued_spin_lock"), []),
    "shared spin lock": (["hold_shared_spin_lock", "take_all"], {}, 0,
                         held("shared spin lock", "hold_shared_spin_lock"), []),
    "fast mutex": (["hold_fast_mutex", "take_all"], {}, 0, held("fast mutex", "hold_fast_mutex"), ["IRQL-RETURN"]),
    "resource and its region": (["hold_resource", "take_all"], {}, 0, held("resource", "hold_resource") + [
        rf"driver: DxgkDdiEscape returned inside of a critical region, entered at hold_resource {LINE} "], []),
    "push lock": (["hold_push_lock", "take_all"], {}, 0, held("exclusive push lock", "hold_push_lock"), []),
    "mutex, twice": (["hold_mutex", "take_all"], {}, 0, held("mutex", "hold_mutex"), []),
    "region": (["stay_in_region"], {}, 0, [
        rf"driver: DxgkDdiEscape returned inside of a critical region, entered at stay_in_region {LINE} ", DONE], []),
    "spin lock, simulated": (["hold_spin_lock", "take_all"], {"DXGK_SEED": "3"}, 0,
                             held("spin lock", "hold_spin_lock"), []),

    "read NULL": (["read_null"], {}, -signal.SIGSEGV, crash("SIGSEGV", "it read 0x4", "second_of"), ["done"]),
    "read NULL, simulated": (["read_null"], {"DXGK_SEED": "3"}, -signal.SIGSEGV,
                             crash("SIGSEGV", "it read 0x4", "second_of"), ["done"]),
    "call NULL": (["call_null"], {}, -signal.SIGSEGV,
                  [r"driver: SIGSEGV in DxgkDdiEscape: it called \(nil\) \(DDI-CRASH\)\n",
                   rf"dxgk:   at call_null {LINE}\n"], ["done"]),
    "fresh pool": (["use_fresh_pool"], {}, -signal.SIGSEGV,
                   crash("SIGSEGV", r"it used the address 0xcdcdcdcdcdcdcdcd.*; .* is uninitialised pool",
                         "second_of"), ["done"]),
    "freed pool": (["use_freed_pool"], {}, -signal.SIGSEGV,
                   crash("SIGSEGV", r"it used the address 0xdddddddddddddddd.*; .* is freed pool", "second_of"),
                   ["done"]),
    "divide by zero": (["divide_by_zero"], {}, -signal.SIGFPE,
                       crash("SIGFPE", "it divided by zero, or the like", "divide_by_zero"), ["done"]),
    "illegal instruction": (["illegal_instruction"], {}, -signal.SIGILL,
                            crash("SIGILL", "it came to an illegal instruction", "illegal_instruction"), ["done"]),
    "abort": (["call_abort"], {}, -signal.SIGABRT,
              [r"driver: SIGABRT in DxgkDdiEscape: it called abort\(\) \(DDI-CRASH\)\n",
               rf"dxgk:   at call_abort {LINE}\n", ENTRY], ["done"]),
    "bug check is told once": (["bug_check"], {}, -signal.SIGABRT,
                               [r"KeBugCheckEx ends .*\(NT-BUGCHECK\)\n"], ["DDI-CRASH", "done"]),
    "crash in a DPC": (["crash_in_dpc"], {}, -signal.SIGSEGV,
                       [r"driver: SIGSEGV in a DPC routine: it read 0x4 ",
                        rf"dxgk:   in a DPC routine crashing_dpc {LINE}\n", rf"dxgk:   at second_of {LINE}\n",
                        rf"dxgk:   at crashing_dpc {LINE}\n"], ["done"]),
    "crash in a thread": (["crash_in_thread"], {}, -signal.SIGSEGV,
                          [r"driver: SIGSEGV in a system thread: it read 0x4 ",
                           rf"dxgk:   at crashing_thread {LINE}\n"], ["done"]),
    "caught": (["crash_in_try"], {}, 0, [r"^" + DONE], ["DDI-CRASH"]),
    "earlier handler still hears of it": (["early", "read_null"], {}, 7,
                                          crash("SIGSEGV", "it read 0x4", "second_of") + ["client: handler\n$"], []),
    "later handler goes first": (["late", "read_null"], {}, -signal.SIGSEGV,
                                 [r"^client: handler\n"] + crash("SIGSEGV", "it read 0x4", "second_of"), []),
    "handler installed twice is no circle": (["early", "late", "read_null"], {}, -signal.SIGSEGV,
                                             crash("SIGSEGV", "it read 0x4", "second_of"), []),
    "a client's fault is its own": (["early", "client", "nothing"], {}, 0,
                                    [r"^client: handler\nclient: handler\n" + DONE], ["driver:"]),

    "wait for NULL": (["wait_for_null"], {}, 0,
                      [r"driver: KeWaitForSingleObject was given NULL as Object \(NT-OBJECT-STATE\)\n"
                       rf"dxgk:   at wait_for_null {LINE}\n" + ENTRY, DONE], []),
    "set NULL": (["set_null"], {}, 0,
                 [r"driver: KeSetEvent was given NULL as Event .*\n" rf"dxgk:   at set_null {LINE}\n" + ENTRY,
                  DONE], []),
    "release NULL": (["release_null"], {}, 0, [r"KeReleaseSemaphore was given NULL as Semaphore ", DONE], []),

    "paged pool at DISPATCH_LEVEL": (["touch_paged"], IRQL, 0,
                                     [r"driver: DxgkDdiEscape touched paged pool at DISPATCH_LEVEL: address "
                                      r"0x[0-9a-f]+, 12 bytes into a block of 300, tag 'Rude' \(NT-IRQL-PAGED\)\n"
                                      rf"dxgk:   at touch_paged {LINE}\n" + ENTRY, DONE], []),
    "paged pool, simulated": (["touch_paged"], {"DXGK_SEED": "5", **IRQL}, 0,
                              [r"touched paged pool at DISPATCH_LEVEL", DONE], []),
    "paged pool is not looked at unasked": (["touch_paged"], {}, 0, [r"^" + DONE], []),
    "paged pool at PASSIVE_LEVEL": (["touch_paged_low"], IRQL, 0, [r"^" + DONE], []),
    "locked pages": (["touch_locked"], IRQL, 0, [r"^" + DONE], []),
    "freed paged pool": (["touch_freed_paged"], IRQL, -signal.SIGSEGV,
                         [r"driver: SIGSEGV in DxgkDdiEscape: it wrote to 0x[0-9a-f]+ in freed paged pool ",
                          rf"dxgk:   at touch_freed_paged {LINE}\n"], []),
    "event in paged pool": (["signal_paged_event"], IRQL, 0,
                            [r"touched paged pool at DISPATCH_LEVEL",
                             rf"dxgk:   at signal_paged_event {LINE}\n", DONE], []),
    "unknown check": (["nothing"], {"DXGK_VERIFY": "irq,stacks"}, 0,
                      [r'DXGK_VERIFY: "irq" is not a check \(irql, stacks, answers, rules, refill, all\)'], []),

    "leak": (["leak", "leak"], {}, 0,
             [rf"The driver left 2 blocks of 80 bytes, tag 'Rude', the first allocated at allocate {LINE} "
              r"\(NT-POOL-LEAK\)\n" rf"dxgk:   at allocate {LINE}\ndxgk:   at leak {LINE}\n" + ENTRY, DONE], []),
    "answer at the start": (["Fail=StartDevice"], {}, 2,
                            [r"adapter 1 \(rude\): the driver was last in \w+ \(.*recorder\.c:\d+\) in rude\.so\n"],
                            []),
    "refused answer": (["Fail=StartDevice"], {"DXGK_LOG": "refusals"}, 2,
                       [r"DxgkDdiStartDevice returned .*\(DDI-STATUS.*\n"
                        r"dxgk:   after \w+ \(.*recorder\.c:\d+\) in rude\.so\n"], []),
    "leaked pages": (["leak_pages"], {}, 0,
                     [rf"left 1 pages of physical memory.*\ndxgk:   at leak_pages {LINE}\n" + ENTRY, DONE], []),
}

# Without libdw and without a demangler: the names and places that the loader knows.
BARE = {
    "bare crash": (["read_null"], {}, -signal.SIGSEGV,
                   [r"driver: SIGSEGV in DxgkDdiEscape: it read 0x4 ", r"dxgk:   at rude\.so\+0x[0-9a-f]+\n"],
                   [r"rude\.c"]),
    "bare lock": (["hold_spin_lock", "take_all"], {}, 0,
                  [r"still holds the spin lock 0x[0-9a-f]+, taken at rude\.so\+0x[0-9a-f]+ ", DONE], [r"rude\.c"]),
}


def run(arguments, environment):
    done = subprocess.run([HOST, DRIVER, *arguments], env={**os.environ, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, done.stdout


def problems(case, environment):
    arguments, wanted_environment, code, says, never = case
    try:
        returned, said = run(arguments, {**environment, **wanted_environment})
    except subprocess.TimeoutExpired as late:
        return [f"did not end: {late.output!r}"]
    found = [] if returned == code else [f"ended with {returned}, not {code}"]
    found += [f"does not say {text!r}" for text in says if not re.search(text, said)]
    found += [f"says {text!r}" for text in never if re.search(text, said)]
    return found + said.splitlines() if found else []


def main():
    number = 0
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        # Files of these names that are no libraries, and that are found first.
        for name in ("libdw.so.1", "libstdc++.so.6", "libc++abi.so.1"):
            open(os.path.join(folder, name), "w", encoding="ascii").close()
        print(f"1..{len(CASES) + len(BARE)}", flush=True)
        for cases, environment in ((CASES, {}), (BARE, {"LD_LIBRARY_PATH": folder})):
            for name, case in cases.items():
                number += 1
                found = problems(case, environment)
                failed |= bool(found)
                print(f"{'not ok' if found else 'ok'} {number} - {name}", flush=True)
                for line in found:
                    print(f"# {line}", flush=True)
    return 1 if failed else 0


sys.exit(main())
