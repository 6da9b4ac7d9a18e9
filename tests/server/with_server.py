#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a test program as a client of a server of its own.

    with_server.py DXGKD PROGRAM [ARGUMENT...]

The server has the environment of the test (profile, drivers, log), and is asked to end when the program has. Its
end must be in order: a server that did not start, crashed or stayed makes the test fail, whatever the program
said. What the program prints is passed on; the server prints to standard error.
"""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 60


def starts(server, ready):
    """True when it has said READY=1; False when it ends before that, or says nothing for too long."""
    deadline = time.monotonic() + PATIENCE_S
    while server.poll() is None and time.monotonic() < deadline:
        try:
            if b"READY=1" in ready.recv(256):
                return True
        except socket.timeout:
            pass
    return False


def main():
    dxgkd, program = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="dxgk-test-") as folder:
        path = os.path.join(folder, "dxgk.sock")
        ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        ready.bind(os.path.join(folder, "ready"))
        ready.settimeout(0.2)
        environment = dict(os.environ, DXGK_TESTING="1", NOTIFY_SOCKET=os.path.join(folder, "ready"))
        wrapper = os.environ.get("TEST_SERVER_WRAPPER", "").split()
        server = subprocess.Popen(wrapper + [dxgkd, "--socket", path], env=environment, stdin=subprocess.DEVNULL)
        if not starts(server, ready):
            server.kill()
            print("Bail out! the server does not start")
            return 1
        client = dict(os.environ, DXGK_SOCKET=path)
        try:
            status = subprocess.call(program, env=client)
        except OSError as problem:
            print(f"Bail out! {problem}")
            status = 1
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        try:
            ended = server.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            server.send_signal(signal.SIGABRT)
            server.wait()
            ended = "after it was stopped"
        if ended != 0:
            print(f"Bail out! the server ended with {ended}")
            return 1
        return status


if __name__ == "__main__":
    sys.exit(main())
