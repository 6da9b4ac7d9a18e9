# SPDX-License-Identifier: MIT
"""Chromium without a window, spoken to over its debugging pipe.

with Browser() as browser:
    browser.open('file:///…/view.html')
    browser.evaluate('document.title')
"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome')
SILENT = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
          '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--hide-scrollbars', '--remote-debugging-pipe']


def program():
    """Where it is, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Problem(Exception):
    """The browser, or the page in it, says no."""


class Browser:
    def __init__(self, width=1400, height=900, patience=120, arguments=()):
        self.patience = patience
        self.folder = tempfile.TemporaryDirectory(prefix='dxgk-browser-', ignore_cleanup_errors=True)
        to_browser, self.requests = os.pipe()
        self.answers, from_browser = os.pipe()

        def hand_over():
            # The program reads descriptor 3 and writes descriptor 4; either may be one of ours already.
            high_in, high_out = os.dup2(to_browser, 100), os.dup2(from_browser, 101)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self.process = subprocess.Popen(
            [program(), *SILENT, f'--user-data-dir={self.folder.name}', f'--window-size={width},{height}', *arguments, 'about:blank'],
            close_fds=False, preexec_fn=hand_over,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b''
        self.next_id = 0
        self.events = []
        self.errors = []
        targets = self.call('Target.getTargets')['targetInfos']
        page = next(target for target in targets if target['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=page['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log'):
            self.call(f'{domain}.enable')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.requests)
        os.close(self.answers)
        self.folder.cleanup()

    def read(self):
        deadline = time.monotonic() + self.patience
        while b'\0' not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Problem(f'no answer within {self.patience} s')
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise Problem('the browser has ended')
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b'\0')
        return json.loads(message)

    def note(self, message):
        self.events.append(message)
        method, about = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            details = about['exceptionDetails']
            self.errors.append(details.get('exception', {}).get('description') or details['text'])
        elif method == 'Log.entryAdded' and about['entry']['level'] == 'error':
            self.errors.append(about['entry']['text'])
        elif method == 'Runtime.consoleAPICalled' and about['type'] in ('error', 'warning', 'assert'):
            self.errors.append(' '.join(str(one.get('value', one.get('description'))) for one in about['args']))

    def call(self, method, **about):
        self.next_id += 1
        message = {'id': self.next_id, 'method': method, 'params': about}
        if hasattr(self, 'session'):
            message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.requests, data):]
        while True:
            answer = self.read()
            if answer.get('id') != self.next_id:
                self.note(answer)
                continue
            if 'error' in answer:
                raise Problem(f'{method}: {answer["error"]["message"]}')
            return answer['result']

    def open(self, address):
        self.events.clear()
        self.call('Page.navigate', url=address)
        while not any(event.get('method') == 'Page.loadEventFired' for event in self.events):
            self.note(self.read())

    def evaluate(self, expression):
        """Its value, awaited if it is a promise."""
        answer = self.call('Runtime.evaluate', expression=expression, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in answer:
            details = answer['exceptionDetails']
            raise Problem(f'{expression}: {details.get("exception", {}).get("description", details["text"])}')
        return answer['result'].get('value')

    def until(self, expression):
        deadline = time.monotonic() + self.patience
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise Problem(f'never true: {expression}')
            time.sleep(0.02)

    def key(self, key, modifiers=0):
        text = key if len(key) == 1 and not modifiers else ''
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, text=text if kind == 'keyDown' else '', modifiers=modifiers)

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ('mousePressed', 'mouseReleased'):
            self.mouse(kind, x, y, button='left', clickCount=1)

    def picture(self, path):
        data = self.call('Page.captureScreenshot', format='png')['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))
