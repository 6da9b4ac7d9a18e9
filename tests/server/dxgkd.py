# SPDX-License-Identifier: MIT
"""dxgkd.py - a server of a test's own, and what the programs of a test are given."""

import os
import socket
import subprocess

PATIENCE = 60


def environment(**settings):
    """This program's, without what would make others do something else; and these."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith('DXGK_') or name == 'DXGK_DRIVER_PATH'}
    return {**kept, **settings}


def start(program, root, *options, env=None, **streams):
    """dxgkd at root/dxgk.sock, which has said that it is ready."""
    ready = os.path.join(root, 'ready')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(ready)
        told.settimeout(PATIENCE)
        server = subprocess.Popen([program, '--socket', os.path.join(root, 'dxgk.sock'), *options],
                                  env={**(env or environment()), 'NOTIFY_SOCKET': ready}, **streams)
        try:
            assert b'READY=1' in told.recv(256)
        except BaseException:
            server.kill()
            raise
    os.unlink(ready)
    return server


def start_client(program, *words, **settings):
    """ctl_client, which has a MiB resident by now and ends when its input does."""
    client = subprocess.Popen([program, *words], env=environment(**settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    try:
        assert client.stdout.readline().startswith('ready')
    except BaseException:
        client.kill()
        raise
    return client
