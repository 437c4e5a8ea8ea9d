// Starts and stops the flashlane binary of FLASHLANE_BIN, and a Chromium.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const BIN = process.env.FLASHLANE_BIN;
const BROWSER = process.env.CHROMIUM_BIN ?? '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const freePort = () => new Promise((done, fail) => {
  const s = createServer();
  s.once('error', fail);
  s.listen(0, '127.0.0.1', () => {
    const { port } = s.address();
    s.close(() => done(port));
  });
});

/** serve starts `flashlane serve --debug-faults` with more flags on a free loopback port: {url, log(), stop()}. */
export async function serve({ keys = '', flags = [] } = {}) {
  if (!BIN) throw new Error('FLASHLANE_BIN is not set: build the binary (go build -o flashlane ./cmd/flashlane) and name it there');
  const dir = mkdtempSync(join(tmpdir(), 'flashlane-web-'));
  const more = [...flags];
  if (keys) {
    writeFileSync(join(dir, 'keys'), keys, { mode: 0o600 });
    more.push('--api-key-file', join(dir, 'keys'));
  }
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(BIN, ['serve', '--listen', `127.0.0.1:${port}`, '--debug-faults', ...more], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  let gone = null;
  child.stdout.on('data', (d) => { log += d; });
  child.stderr.on('data', (d) => { log += d; });
  child.once('error', (e) => { gone = e.message; });
  const exited = new Promise((f) => child.once('exit', (code, signal) => { gone ??= `exit ${code ?? signal}`; f(code); }));
  const until = Date.now() + 60_000;
  for (;;) {
    if (gone) throw new Error(`flashlane did not start (${gone}):\n${log}`);
    const ok = await fetch(`${url}/readyz`).then((r) => r.ok, () => false);
    if (ok) break;
    if (Date.now() > until) throw new Error(`flashlane is not ready after 60 s:\n${log}`);
    await new Promise((f) => setTimeout(f, 100));
  }
  return {
    url,
    log: () => log,
    async stop() {
      if (gone === null) child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
      const code = await exited;
      clearTimeout(timer);
      rmSync(dir, { recursive: true, force: true });
      return code;
    },
  };
}

/** browse starts a browser with an empty profile: {page(options), stop()}. Every page records what went wrong in page.faults. */
export async function browse() {
  const browser = await chromium.launch({ executablePath: BROWSER, headless: true, args: FLAGS });
  return {
    async page(url, options = {}) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(20_000);
      page.faults = [];
      page.on('pageerror', (e) => page.faults.push(`error: ${e.message}`));
      page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') page.faults.push(`${m.type()}: ${m.text()}`); });
      page.foreign = [];
      page.on('request', (r) => { if (!r.url().startsWith(url)) page.foreign.push(r.url()); });
      await page.goto(url);
      return page;
    },
    stop: () => browser.close(),
  };
}
