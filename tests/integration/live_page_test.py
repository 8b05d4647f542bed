#!/usr/bin/env python3
"""The live page of docstore-server and stout-node, in a headless Chromium.

Usage: live_page_test.py BIN_DIR [--screenshot FILE]

A server is loaded, and the page of the next server at work shows it as a recorded run. The page must
show values that move, for every lane, without any error on the console, and fit a narrow screen. It
must say so when the server has gone. A page with an error in its script must be found out. The page of
a node must show the ranges of its deployment.

--screenshot FILE makes docs/figures/live-page.png instead: one policy after another under a load that
rises and falls, on RocksDB with slow syncs, and then the page of the last one.
"""

import base64
import contextlib
import fcntl
import http.server
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PATIENCE = 60  # seconds: the machine may be busy with more than this test
CHARTS = 6


def until(condition, what):
    """Asks again and again, and returns the first answer that is true."""
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f'in vain: {what}')
        time.sleep(0.1)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


# --- Programs -------------------------------------------------------------------------------------


@contextlib.contextmanager
def program(arguments, **more):
    """A process with its children, which are gone in the end."""
    process = subprocess.Popen(arguments, start_new_session=True, **more)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def serving(bin_dir, policy, *options, store='memory:'):
    """docstore-server; yields its process and its URL."""
    command = [f'{bin_dir}/docstore-server', '--store', store, '--policy', policy, '--listen',
               '127.0.0.1:0', '--threads', '2', '--log-level', 'warning', *options]
    with program(command, stdout=subprocess.PIPE, text=True) as process:
        address = re.fullmatch(r'listening on (.*)\n', process.stdout.readline())
        check(address, f'{" ".join(command)} does not serve')
        yield process, f'http://{address[1]}'


@contextlib.contextmanager
def deployment(bin_dir, directory):
    """stout-node, alone in a deployment; yields its address and the URL of its pages."""
    command = [f'{bin_dir}/stout-node', '--join', 'in-process:', '--datalet', 'memory:', '--datalet-id',
               'left', '--ranges', '2', '--replicas', '1', '--listen', '127.0.0.1:0', '--metrics',
               '127.0.0.1:0']
    log = f'{directory}/node.log'
    with open(log, 'w', encoding='utf-8') as output, \
            program(command, stdout=subprocess.PIPE, stderr=output, text=True) as process:
        address = re.fullmatch(r'listening on (.*)\n', process.stdout.readline())
        with open(log, encoding='utf-8') as lines:
            port = re.search(r'metrics at port (\d+)', lines.read())
        check(address and port, f'{" ".join(command)} does not serve')
        yield address[1], f'http://127.0.0.1:{port[1]}'


def load(bin_dir, url, *options):
    return [f'{bin_dir}/docstore-load', '--target', url, '--documents', '500', '--connections', '16',
            '--pipeline', '16', '--preload', *options]


def fetch(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def seconds_of(history):
    return len(history['series'][0]['columns']['time']) if history['series'] else 0


# --- A browser ------------------------------------------------------------------------------------


class Browser:
    """Chromium, which takes commands of its DevTools protocol from a pipe."""

    def __init__(self, directory):
        chromium = shutil.which('chromium')
        check(chromium, 'no chromium here: install it with ./dev setup')
        # Far from 3 and 4, which the browser reads and writes.
        theirs, self.out = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())
        self.into, answers = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())

        def connect():
            os.dup2(theirs, 3)
            os.dup2(answers, 4)

        self.stack = contextlib.ExitStack()
        self.stack.enter_context(program(
            [chromium, '--headless=new', '--remote-debugging-pipe', '--no-first-run',
             '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking',
             '--hide-scrollbars', f'--user-data-dir={directory}/browser',
             *(['--no-sandbox'] if os.geteuid() == 0 else [])],
            env={**os.environ, 'HOME': directory}, preexec_fn=connect, pass_fds=(3, 4),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(f'{directory}/browser.log', 'w', encoding='utf-8')))
        os.close(theirs)
        os.close(answers)
        self.pending = b''
        self.calls = 0
        self.events = []  # not looked at yet

    def close(self):
        self.stack.close()
        os.close(self.out)
        os.close(self.into)

    def receive(self):
        deadline = time.monotonic() + PATIENCE
        while b'\0' not in self.pending:
            ready, _, _ = select.select([self.into], [], [], max(0, deadline - time.monotonic()))
            check(ready, 'the browser does not answer')
            data = os.read(self.into, 1 << 20)
            check(data, 'the browser has ended')
            self.pending += data
        message, self.pending = self.pending.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.calls += 1
        message = {'id': self.calls, 'method': method, 'params': parameters}
        if session:
            message['sessionId'] = session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.out, data):]
        while True:
            answer = self.receive()
            if answer.get('id') == self.calls:
                check('error' not in answer, f'{method}: {answer.get("error")}')
                return answer['result']
            self.events.append(answer)


class Page:
    """A page of its own, at `url`, and what its console reported."""

    def __init__(self, browser, url, width=1280, height=900):
        self.browser = browser
        self.errors = []
        target = browser.call('Target.createTarget', url='about:blank')['targetId']
        self.session = browser.call('Target.attachToTarget', targetId=target,
                                    flatten=True)['sessionId']
        for domain in ('Runtime', 'Log', 'Page'):
            self.call(f'{domain}.enable')
        self.resize(width, height)
        self.call('Page.navigate', url=url)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width, height=900):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def media(self, **features):
        self.call('Emulation.setEmulatedMedia', features=[
            {'name': name.replace('_', '-'), 'value': value} for name, value in features.items()])

    def ask(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True)
        check('exceptionDetails' not in answer, f'{expression}: {answer.get("exceptionDetails")}')
        return answer['result'].get('value')

    def console(self):
        """Everything on the console that should not be there."""
        self.ask('0')  # what happened before has been reported by then
        events, self.browser.events = self.browser.events, []
        for event in events:
            if event.get('sessionId') != self.session:
                self.browser.events.append(event)
                continue
            said = event['params']
            if event['method'] == 'Runtime.exceptionThrown':
                details = said['exceptionDetails']
                self.errors.append(details.get('exception', {}).get('description', details['text']))
            elif event['method'] == 'Runtime.consoleAPICalled' and said['type'] != 'log':
                self.errors.append(f'console.{said["type"]}: {said["args"]}')
            elif event['method'] == 'Log.entryAdded' and said['entry']['level'] == 'error':
                self.errors.append(said['entry']['text'])
        return self.errors


# --- What is looked at ----------------------------------------------------------------------------

VALUES = """Object.fromEntries([...document.querySelectorAll('#values tr')].map(
    (row) => [row.dataset.column, row.cells[1].textContent]))"""
CURVES = """[...document.querySelectorAll('figure > svg')].map((chart) =>
    [...chart.querySelectorAll('path[data-column]')].map((path) => path.getAttribute('d')))"""
REGIMES = """[...document.querySelectorAll('#regime-rows tr')].map((row) => [row.dataset.lane,
    row.cells[1].textContent, [...row.querySelectorAll('path')].map((bar) => bar.getAttribute('class'))])"""
RANGES = """[...document.querySelectorAll('#member-rows tr')].map((row) =>
    [...row.cells].map((cell) => cell.textContent))"""
RUNS = """[...document.querySelectorAll('path[data-run]')].map((path) => path.getAttribute('d'))"""
# The lowest contrast of a text with what is behind it, and the text: WCAG 2, 1.4.3.
CONTRAST = """(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const colour = channels(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
  };
  const texts = [...document.querySelectorAll('body *')].filter((element) =>
    !['SCRIPT', 'OPTION'].includes(element.tagName) && element.checkVisibility()
    && [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  return texts.map((element) => {
    const style = getComputedStyle(element);
    const colour = element.namespaceURI.endsWith('svg') ? style.fill : style.color;
    const [low, high] = [light(channels(colour)), light(behind(element))].sort((a, b) => a - b);
    return [(high + 0.05) / (low + 0.05), element.textContent];
  }).sort((a, b) => a[0] - b[0])[0];
})()"""


def check_console(page):
    errors = page.console()
    check(not errors, f'errors on the console: {errors}')


def look(page):
    """The newest values, once there are any of a load."""

    def values():
        check_console(page)
        shown = page.ask(VALUES)
        return shown if shown.get('reply_p99_seconds', '–') != '–' else None

    return until(values, 'the page shows the latency of replies')


def check_values_move(page):
    first = look(page)
    for column in ('reply_p50_seconds', 'batch_items', 'interval_seconds', 'gap_seconds', 'window',
                   'dirty_keys', 'store_p99_seconds', 'writes_per_second'):
        check(column in first, f'the page has no {column}, but {first}')

    def moved():
        check_console(page)
        now = page.ask(VALUES)
        return sum(now[column] != value for column, value in first.items()) >= 3

    until(moved, 'three values change')
    for chart in until(lambda: page.ask(CURVES), 'the page has charts'):
        check(chart and any('L' in curve for curve in chart), 'a chart has no curve')


def check_is_accessible(page):
    labels = page.ask("[...document.querySelectorAll('svg[role=img]')].map((svg) => svg.ariaLabel)")
    check(len(labels) == CHARTS + 1 and all(re.search(r': .*\d', label) for label in labels),
          f'charts and the regimes of the lane do not say what they show: {labels}')
    check(page.ask("document.querySelector('label[for=lane]') !== null"), 'the lane has no label')
    for scheme in ('light', 'dark'):
        page.media(prefers_color_scheme=scheme)
        contrast, text = page.ask(CONTRAST)
        check(contrast >= 4.5, f'{scheme}: a contrast of {contrast:.1f} of "{text}"')
    light, dark = [], []
    for scheme, colour in (('light', light), ('dark', dark)):
        page.media(prefers_color_scheme=scheme)
        colour.append(page.ask('getComputedStyle(document.body).backgroundColor'))
    check(light != dark, 'light and dark are the same')


def check_fits(page):
    for width in (320, 768, 1280):
        page.resize(width)
        wide = page.ask('document.scrollingElement.scrollWidth')
        check(wide <= width, f'{wide} pixels wide on a screen of {width}')


def check_regimes(page):
    rows = page.ask(REGIMES)
    check([lane for lane, _, _ in rows] == ['0/0', '1/0'], f'regimes of other lanes: {rows}')
    keys = page.ask("[...document.querySelectorAll('#regime-keys b')].map((b) => b.textContent)")
    for _, words, bars in rows:
        regime, _, reason = words.partition(': ')
        check(regime in keys and reason, f'"{words}" is no regime of {keys} with its reason')
        check(bars and bars[-1] == regime.replace(' ', '_'), f'{words}, but the strip has {bars}')


def check_lanes(page):
    lanes = page.ask("[...document.querySelector('#lane').options].map((lane) => lane.value)")
    check(lanes == ['total', '0/0', '1/0'], f'the lanes are {lanes}')
    page.ask("document.querySelector('#lane').value = '1/0';"
             "document.querySelector('#lane').dispatchEvent(new Event('change'))")
    check('lane 1/0' in page.ask("document.querySelector('#caption').textContent"), 'no lane is shown')
    look(page)


def check_ranges(page, owner):
    expected = [[number, owner, 'left', 'in', '0'] for number in ('0', '1')]
    until(lambda: page.ask(RANGES) == expected, f'the page shows the ranges {expected}')


def check_recorded(page):
    check('fixed:20ms' in page.ask("document.querySelector('#runs').textContent"),
          'the recorded run is not named')
    curves = page.ask(RUNS)
    check(len(curves) == CHARTS and all('L' in curve for curve in curves),
          f'the recorded run is not drawn in each chart: {curves}')


def check_is_found_out(browser, url):
    """A page whose script has an error does not pass."""

    class Broken(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer = fetch(url + self.path)
            if self.path == '/':
                broken = answer.replace('function draw() {', 'function draw() { missing();')
                check(broken != answer, 'the script has no function draw()')
                answer = broken
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Broken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            look(Page(browser, f'http://127.0.0.1:{server.server_port}/'))
        except AssertionError as error:
            check('missing is not defined' in str(error), f'another error was found: {error}')
        else:
            raise AssertionError('a page with an error in its script passes')
        finally:
            server.shutdown()


def test(bin_dir, directory):
    recorded = f'{directory}/history.json'
    with serving(bin_dir, 'fixed:20ms') as (_, url):
        with program(load(bin_dir, url, '--rate', '500', '--duration', '60s'),
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            until(lambda: seconds_of(json.loads(fetch(f'{url}/history'))) >= 4, 'four seconds pass')
        with open(recorded, 'w', encoding='utf-8') as file:
            file.write(fetch(f'{url}/history'))

    with contextlib.ExitStack() as stack:
        process, url = stack.enter_context(
            serving(bin_dir, 'adaptive', '--page-history', recorded, store='memory:?latency=2ms'))
        stack.enter_context(program(load(bin_dir, url, '--rate', '500', '--duration', '600s'),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        browser = Browser(directory)
        stack.callback(browser.close)
        page = Page(browser, f'{url}/')
        check_values_move(page)
        check_recorded(page)
        check_regimes(page)
        check_lanes(page)
        check_is_accessible(page)
        check_fits(page)
        check_console(page)
        print('live_page_test: values move, and the console is empty')
        check_is_found_out(browser, url)
        print('live_page_test: a page with an error in its script is found out')
        process.kill()
        until(lambda: 'No answer for' in page.ask("document.querySelector('#notice').innerText"),
              'the page reports that the server does not answer')
        print('live_page_test: a server that has gone is noticed')
        address, url = stack.enter_context(deployment(bin_dir, directory))
        page = Page(browser, f'{url}/')
        check_ranges(page, address)
        check_fits(page)
        check_console(page)
        print('live_page_test: the ranges of a deployment are shown with their owners')


def screenshot(bin_dir, directory, file):
    recorded = f'{directory}/history.json'
    steps = 10  # seconds each
    with contextlib.ExitStack() as stack:
        for policy in ('unbatched', 'fixed:160ms', 'adaptive'):
            options = ['--page-history', recorded] if os.path.exists(recorded) else []
            _, url = stack.enter_context(serving(
                bin_dir, policy, *options, store=f'rocksdb:{directory}/{policy}?sync_delay=4ms'))
            with program(load(bin_dir, url, '--steps', f'0s:200,{steps}s:8000,{2 * steps}s:200',
                              '--timeout', '5s'),
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as client:
                if policy != 'adaptive':
                    client.wait()
                    with open(recorded, 'w', encoding='utf-8') as answer:
                        answer.write(fetch(f'{url}/history'))
                    continue
                until(lambda: seconds_of(json.loads(fetch(f'{url}/history'))) > 2.5 * steps,
                      'the last step has come')
                browser = Browser(directory)
                stack.callback(browser.close)
                page = Page(browser, f'{url}/')
                page.media(prefers_color_scheme='light')
                look(page)
                charts = "document.querySelector('#charts').getBoundingClientRect().bottom"
                image = page.call('Page.captureScreenshot', captureBeyondViewport=True, clip={
                    'x': 0, 'y': 0, 'width': 1280, 'height': page.ask(charts) + 4, 'scale': 1})
                with open(file, 'wb') as png:
                    png.write(base64.b64decode(image['data']))
                check_console(page)


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 3 and arguments[1] == '--screenshot':
        run = lambda directory: screenshot(arguments[0], directory, arguments[2])
    elif len(arguments) == 1 and not arguments[0].startswith('-'):
        run = lambda directory: test(arguments[0], directory)
    else:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix='stout-live-page.', dir='/var/tmp') as directory:
        try:
            run(directory)
        except AssertionError as error:
            sys.exit(f'live_page_test: {error}')


if __name__ == '__main__':
    main()
