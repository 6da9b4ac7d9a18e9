#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firefox_test.py - the page of dxgk view in the other browser.

usage: firefox_test.py path-of-dxgk path-of-examples path-of-tools
"""

import collections
import contextlib
import http.server
import os
import shutil
import struct
import subprocess
import sys
import threading
import zlib

DXGK = os.path.abspath(sys.argv[1])
sys.path.insert(0, sys.argv[3])
import tap  # noqa: E402


def test_firefox_shows_it_as_well(root):
    firefox = shutil.which('firefox-esr') or shutil.which('firefox')
    if not firefox:
        raise tap.Skip('Firefox (package firefox-esr) is not installed')
    page, picture, profile = (os.path.join(root, name) for name in ('view.html', 'shown.png', 'profile'))
    os.mkdir(profile)
    subprocess.run([DXGK, 'tour', '--frames', '30', '--quiet', '--html', page], check=True, timeout=200)
    with loaded_when_drawn(page):
        subprocess.run([firefox, '--headless', '--profile', profile, '--window-size', '1000,700', '--screenshot', picture, f'file://{page}'],
                       env={**os.environ, 'HOME': root}, check=True, capture_output=True, timeout=200)
    colours = colours_of(picture)
    # Blue, orange and green are the three clients'; nothing but data is in those colours.
    for colour in ((0x00, 0x72, 0xb2), (0xe6, 0x9f, 0x00), (0x00, 0x9e, 0x73)):
        assert colours[colour] > 200, (colour, colours.most_common(12))


@contextlib.contextmanager
def loaded_when_drawn(page):
    """Firefox takes its picture when everything is loaded: the page gets an image that comes when it has been drawn."""
    drawn = threading.Event()

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == '/drawn':
                drawn.set()
            drawn.wait(100)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there = f'http://127.0.0.1:{server.server_port}'
        with open(page, encoding='utf-8') as file:
            text = file.read()
        with open(page, 'w', encoding='utf-8') as file:
            file.write(text.replace('</body>', f"""<img src="{there}/late" hidden><script>(function poll() {{
                if (window.page && page.frames > 0) new Image().src = '{there}/drawn'; else setTimeout(poll, 50); }})()</script></body>"""))
        yield
        server.shutdown()


def colours_of(path):
    """How many pixels of a PNG with eight bits a channel have which colour."""
    with open(path, 'rb') as file:
        data = file.read()
    at, packed, head = 8, b'', None
    while at < len(data):
        size, kind = struct.unpack_from('>I4s', data, at)
        head = struct.unpack_from('>IIBB', data, at + 8) if kind == b'IHDR' else head
        packed += data[at + 8:at + 8 + size] if kind == b'IDAT' else b''
        at += 12 + size
    width, height, depth, kind = head
    assert depth == 8 and kind in (2, 6), head
    channels = 3 if kind == 2 else 4
    raw, line, counts = zlib.decompress(packed), bytearray(width * channels), collections.Counter()
    for y in range(height):
        how = raw[y * (width * channels + 1)]
        now = bytearray(raw[y * (width * channels + 1) + 1:(y + 1) * (width * channels + 1)])
        for i, value in enumerate(now):
            left = now[i - channels] if i >= channels else 0
            up, corner = line[i], line[i - channels] if i >= channels else 0
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda one: abs(guess - one))
            now[i] = (value + (0, left, up, (left + up) // 2, nearest)[how]) & 255
        line = now
        counts.update(zip(now[0::channels], now[1::channels], now[2::channels]))
    return counts


if __name__ == '__main__':
    tap.run_tests(globals())
