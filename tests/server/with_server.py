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


def main():
    dxgkd, program = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="dxgk-test-") as folder:
        path = os.path.join(folder, "dxgk.sock")
        ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        ready.bind(os.path.join(folder, "ready"))
        ready.settimeout(PATIENCE_S)
        environment = dict(os.environ, DXGK_TESTING="1", NOTIFY_SOCKET=os.path.join(folder, "ready"))
        wrapper = os.environ.get("TEST_SERVER_WRAPPER", "").split()
        server = subprocess.Popen(wrapper + [dxgkd, "--socket", path], env=environment, stdin=subprocess.DEVNULL)
        try:
            while b"READY=1" not in ready.recv(256):
                pass
        except socket.timeout:
            server.kill()
            print("Bail out! the server does not start")
            return 1
        client = dict(os.environ, DXGK_SOCKET=path)
        status = subprocess.call(program, env=client)
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
