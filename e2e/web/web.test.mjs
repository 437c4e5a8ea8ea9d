// The page at "/" against the real binary: what a user does, and what the server then says.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import { browse, serve } from './server.mjs';

let server, browser;
before(async () => { [server, browser] = await Promise.all([serve(), browse()]); });
after(async () => {
  await browser?.stop();
  if (server) assert.equal(await server.stop(), 0, 'the server ends cleanly on SIGTERM');
});

const ask = (path, options) => fetch(server.url + path, options).then(async (r) => ({ status: r.status, body: await r.json() }));
const lane = async (name) => (await ask('/v1/lanes')).body.lanes.find((l) => l.name === name);
const restarts = async (kind) => (await ask('/v1/actors')).body.actors.filter((a) => a.kind === kind).reduce((n, a) => n + a.restarts, 0);
const eventually = async (what, f, ms = 10_000) => {
  for (const until = Date.now() + ms; ;) {
    const got = await f();
    if (got) return got;
    assert.ok(Date.now() < until, `not within ${ms} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
};
const idle = () => eventually('no request is active', async () => (await ask('/health')).body.active === 0);

const send = async (page, text) => {
  await page.locator('#prompt').fill(text);
  await page.locator('#prompt').press('Enter');
};
const answered = (page) => page.locator('.turn.assistant').last().and(page.locator('[aria-busy="false"]')).waitFor();
const settings = async (page, values) => {
  for (const [id, v] of Object.entries(values)) await page.locator(`#${id}`).fill(String(v));
};

/** lengthen makes answers go on to their token limit: the nano model likes to be brief, so its end tokens are talked down. */
const lengthen = (page, ...ids) => page.route('**/v1/chat/completions', (route) => {
  const body = route.request().postData();
  const bias = Object.fromEntries([8183, 8185, ...ids].map((id) => [id, -100]));
  return route.continue({ postData: `${body.slice(0, -1)},"logit_bias":${JSON.stringify(bias)}}` });
});

/** clean checks that nothing went wrong unseen, and that nobody but the server was talked to. */
const clean = async (page) => {
  assert.deepEqual(page.faults, [], 'errors in the console');
  assert.deepEqual(page.foreign, [], 'requests to others');
  await page.context().close();
};

test('a message streams, and the answer says how it came about', async () => {
  const page = await browser.page(server.url);
  await page.locator('#state[data-state="ok"]').waitFor();
  assert.equal(await page.locator('#model').textContent(), 'nano');
  await lengthen(page);
  await settings(page, { seed: 7, max_tokens: 300 });
  await send(page, 'What is Go?');
  const sizes = new Set();
  const turn = page.locator('.turn.assistant');
  await turn.waitFor();
  while (await turn.getAttribute('aria-busy') === 'true') sizes.add((await turn.textContent()).length);
  assert.ok(sizes.size >= 4, `the answer grew in ${sizes.size} steps, want at least 4`);
  const facts = await turn.locator('.facts').textContent();
  for (const want of ['300 tokens', 'tok/s', 'tokens/round', 'drafts accepted', 'to first token', 'seed 7', 'digest ']) assert.ok(facts.includes(want), `"${want}" in: ${facts}`);
  assert.match(await turn.locator('.cut').textContent(), /limit of tokens/);
  assert.equal(await page.locator('#temperature').getAttribute('placeholder'), '0.6', 'the default is learned');
  await eventually('tokens are counted in the panel', async () => (await page.locator('#queue').textContent()).includes('tokens since start300'));
  await eventually('acceptance is shown', async () => await page.locator('#depths tr').count() === 3);
  await page.getByRole('button', { name: 'Repeat with the same seed' }).click();
  await page.locator('.facts .same').waitFor();
  await clean(page);
});

test('reasoning is folded, counted, and sent back with the next turn', async () => {
  const page = await browser.page(server.url);
  const bodies = [];
  page.on('request', (r) => { if (r.url().endsWith('/v1/chat/completions')) bodies.push(JSON.parse(r.postData())); });
  await settings(page, { seed: 3, system: 'Be brief.' });
  await send(page, 'What is a goroutine?');
  await answered(page);
  const think = page.locator('.think').first();
  assert.match(await think.locator('summary').textContent(), /^Thought · \d+ tokens$/);
  assert.equal(await think.getAttribute('open'), null, 'folded');
  await think.locator('summary').click();
  const thought = await think.locator('.text').textContent();
  assert.notEqual(thought, '');
  await page.locator('#thinking').uncheck();
  await send(page, 'And a channel?');
  await page.locator('.turn.assistant').nth(1).waitFor();
  await answered(page);
  assert.deepEqual(bodies[1].messages.map((m) => m.role), ['system', 'user', 'assistant', 'user']);
  assert.equal(bodies[1].messages[2].reasoning_content.trim(), thought);
  assert.deepEqual([bodies[0].enable_thinking, bodies[1].enable_thinking, bodies[0].seed], [true, false, 3]);
  assert.equal('temperature' in bodies[0], false, 'an empty field is left to the server');
  assert.equal(await page.locator('.turn.assistant').nth(1).locator('.think').isVisible(), false, 'no reasoning was asked for');
  await clean(page);
});

test('the count beside the reasoning runs along with the rounds', async () => {
  const page = await browser.page(server.url);
  await page.locator('#events-state[data-state="ok"]').waitFor();
  const counts = new Set();
  await page.exposeFunction('counted', (text) => counts.add(text));
  await page.evaluate(() => new MutationObserver(() => {
    const s = document.querySelector('.think summary');
    if (s) window.counted(s.textContent);
  }).observe(document.querySelector('#transcript'), { childList: true, subtree: true, characterData: true }));
  const { body: { tokens: [end] } } = await ask('/tokenize', { method: 'POST', body: '{"prompt": "</think>"}' });
  await lengthen(page, end); // it never ends to think
  await settings(page, { seed: 3, max_tokens: 600 });
  await send(page, 'What is a goroutine?');
  await answered(page);
  assert.equal(await page.locator('.think summary').textContent(), 'Thought · 600 tokens');
  const live = [...counts].filter((c) => c.startsWith('Thinking · about ')).map((c) => Number(/\d+/.exec(c)[0]));
  assert.ok(live.length >= 5, `counts while thinking: ${[...counts]}`);
  assert.ok(live.every((n, i) => n <= 600 && (i < 3 || n > live[i - 1])), `counts ${live}`); // the first may be by length
  assert.ok(live.at(-1) > 300, `counts ${live}`);
  await clean(page);
});

test('a lane switched in mid-answer is switched in the server, and not a token changes', async () => {
  const page = await browser.page(server.url);
  await lengthen(page);
  await settings(page, { seed: 11, max_tokens: 1500 });
  await send(page, 'Tell me about slices.');
  await answered(page);
  const digest = () => page.locator('.facts button[aria-label^="Digest"]').last().getAttribute('aria-label');
  const calm = await digest();

  await page.getByRole('button', { name: 'Regenerate' }).click();
  const turn = page.locator('.turn.assistant').last();
  await eventually('the answer has begun', async () => (await turn.textContent()).length > 150);
  for (const name of ['ple_cached_aux', 'qsa_pooled_rowsel']) {
    const button = page.getByRole('switch', { name });
    assert.equal(await button.getAttribute('aria-checked'), 'true');
    await button.click();
    await page.locator(`[data-lane="${name}"][data-status="off"]`).waitFor();
    const now = await lane(name);
    assert.deepEqual([now.enabled, now.status], [false, 'off']);
  }
  assert.equal(await turn.getAttribute('aria-busy'), 'true', 'the answer is still running');
  await answered(page);
  assert.equal(await digest(), calm, 'the tokens are the same');
  assert.match(await page.locator('#log').textContent(), /lane ple_cached_aux switched off/);

  for (const name of ['ple_cached_aux', 'qsa_pooled_rowsel']) {
    await page.getByRole('switch', { name }).focus();
    await page.keyboard.press('Space');
    await page.locator(`[data-lane="${name}"][data-status="installed"]`).waitFor();
    assert.equal((await lane(name)).enabled, true);
  }
  await clean(page);
});

test('an actor that is killed shows its restart, in the tree and in the log, and the answer goes on', async () => {
  const page = await browser.page(server.url);
  await page.locator('#events-state[data-state="ok"]').waitFor();
  await lengthen(page);
  await settings(page, { seed: 11, max_tokens: 1500 });
  const row = page.locator('.actor[data-actor$="/verifier"]');
  const shown = async () => Number(await row.getAttribute('data-restarts'));
  await row.waitFor();
  const was = await shown();
  assert.equal(was, await restarts('verifier'));
  await send(page, 'Tell me about slices.');
  await eventually('the answer has begun', async () => (await page.locator('.turn.assistant').textContent()).length > 100);
  const r = await ask('/debug/fault', { method: 'POST', body: JSON.stringify({ actor: 'verifier' }) });
  assert.equal(r.status, 202);
  await eventually('the counter rises', async () => await shown() === was + 1);
  assert.equal(await restarts('verifier'), was + 1);
  assert.match(await row.locator('.restarts').textContent(), new RegExp(`^${was + 1} restart`));
  assert.ok(Number(await page.locator('#restarts').getAttribute('data-restarts')) >= was + 1);
  assert.match(await page.locator('#log li[data-type="supervision"]').first().textContent(), /verifier failed, restart/);
  await answered(page);
  assert.match(await page.locator('.facts').textContent(), /1,500 tokens/);
  assert.equal(await page.locator('.failed').count(), 0);
  await page.locator('#log-filter').selectOption('lane');
  assert.equal(await page.locator('#log li:visible').count(), 0, 'the filter hides failures');
  await clean(page);
});

test('stop button and Escape cancel the request in the server', async () => {
  const page = await browser.page(server.url);
  await lengthen(page);
  for (const how of ['button', 'Escape']) {
    await idle();
    const before = (await ask('/health')).body.tokens;
    await page.locator('#max_tokens').fill('3000');
    await send(page, 'Go on and on.');
    await eventually('the answer has begun', async () => (await page.locator('.turn.assistant').last().textContent()).length > 60);
    assert.equal((await ask('/health')).body.active, 1);
    if (how === 'button') await page.locator('#stop').click();
    else await page.keyboard.press('Escape');
    await answered(page);
    await idle();
    assert.ok((await ask('/health')).body.tokens - before < 2500, 'it did not run to its end');
    assert.match(await page.locator('.turn.assistant').last().locator('.cut').textContent(), /Stopped by you/);
    assert.equal(await page.locator('#stop').isHidden(), true);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'prompt', 'focus is where one types on');
  }
  assert.match(server.log(), /client disconnected/);
  await clean(page);
});

/** canned answers the page's requests with prepared event streams, one after the other, and keeps the bodies. */
const canned = async (page, streams) => {
  const bodies = [];
  await page.route('**/v1/chat/completions', (route) => {
    bodies.push(JSON.parse(route.request().postData()));
    const body = streams[bodies.length - 1].map((e) => (typeof e === 'string' ? e : `data: ${JSON.stringify({ id: 'chatcmpl-x', ...e })}`)).join('\n\n') + '\n\n';
    return route.fulfill({ status: 200, contentType: 'text/event-stream', body });
  });
  return bodies;
};
const delta = (d, finish = null) => ({ choices: [{ index: 0, delta: d, finish_reason: finish }] });

test('a tool call is a card; its typed result goes back and the model goes on', async () => {
  const page = await browser.page(server.url);
  const call = (index, more) => delta({ tool_calls: [{ index, ...more }] });
  const bodies = await canned(page, [
    [delta({ role: 'assistant', content: '' }), delta({ reasoning_content: 'I need the weather.' }),
      call(0, { id: 'c1', type: 'function', function: { name: 'weather', arguments: '' } }), call(0, { function: { arguments: '{"city": "Os' } }), call(0, { function: { arguments: 'lo"}' } }),
      call(1, { id: 'c2', type: 'function', function: { name: 'clock', arguments: '{}' } }), delta({}, 'tool_calls'), 'data: [DONE]'],
    [delta({ content: 'It is 4 degrees.' }), delta({}, 'stop'), 'data: [DONE]'],
  ]);
  await page.locator('.more summary').click();
  const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }];
  await page.locator('#tools').fill(JSON.stringify(tools));
  await send(page, 'How cold is it in Oslo?');
  await answered(page);
  const cards = page.locator('.call');
  assert.deepEqual(await cards.locator('.head b').allTextContents(), ['weather', 'clock']);
  assert.equal(await cards.first().locator('pre').textContent(), '{\n  "city": "Oslo"\n}');
  await page.getByLabel('Result of weather').fill('4');
  await cards.first().getByRole('button', { name: 'Give result' }).click();
  assert.equal(bodies.length, 1, 'the other call is still open');
  await page.getByLabel('Result of clock').fill('noon');
  await cards.nth(1).getByRole('button', { name: 'Give result' }).click();
  await page.getByText('It is 4 degrees.').waitFor();
  assert.deepEqual(bodies[0].tools, tools);
  assert.deepEqual(bodies[1].messages.slice(1), [
    { role: 'assistant', content: '', reasoning_content: 'I need the weather.', tool_calls: [
      { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city": "Oslo"}' } }, { id: 'c2', type: 'function', function: { name: 'clock', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'c1', content: '4' }, { role: 'tool', tool_call_id: 'c2', content: 'noon' }]);
  await clean(page);
});

test('streams that end badly say so and keep what came', async () => {
  const page = await browser.page(server.url);
  await canned(page, [
    [delta({ content: 'Half an ' }), { error: { message: 'request chatcmpl-x crashed the engine repeatedly', type: 'server_error', code: 'request_crashed' } }, 'data: [DONE]'],
    [delta({ content: 'Cut' })],
    [': keep-alive prefill 512/2048', 'data: {"not json'],
    [delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a' } }] }), delta({}, 'length'), 'data: [DONE]'],
  ]);
  const last = page.locator('.turn.assistant').last();
  for (const [text, said] of [['Half an', /crashed the engine/], ['Cut', /ended before the answer did/], ['', /connection broke/]]) {
    await send(page, 'x');
    await answered(page);
    assert.match(await last.locator('.failed').textContent(), said);
    assert.equal((await last.locator('.md').first().textContent()).trim(), text);
  }
  await send(page, 'x');
  await answered(page);
  assert.match(await last.locator('.call .head').textContent(), /cut off/);
  assert.equal(await last.locator('.reply').count(), 0, 'a call that was cut takes no result');
  await clean(page);
});

test('prefill progress is shown while it lasts', async () => {
  const page = await browser.page(server.url);
  let finish;
  await page.exposeFunction('released', () => new Promise((f) => { finish = f; }));
  await page.evaluate(() => { // fetch of one route answers with a stream that stands still in the middle
    const real = window.fetch;
    window.fetch = (url, options) => (url !== '/v1/chat/completions' ? real(url, options) : Promise.resolve(new Response(new ReadableStream({
      async start(c) {
        const put = (t) => c.enqueue(new TextEncoder().encode(t));
        put('data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n: keep-alive prefill 512/2048\n\n');
        await window.released();
        put('data: {"id":"x","choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
        c.close();
      },
    }))));
  });
  await send(page, 'x');
  await page.getByText('Reading the prompt: 512 of 2,048 tokens').waitFor();
  assert.equal(await page.locator('#prefill-text').textContent(), 'Prefill 512 of 2,048');
  assert.equal(await page.locator('#prefill-bar').evaluate((b) => b.value / b.max), 0.25);
  finish();
  await answered(page);
  assert.equal(await page.locator('#prefill').isHidden(), true);
  assert.equal(await page.locator('.waiting').isHidden(), true);
  await clean(page);
});

test('the transcript follows the answer until the user scrolls away', async () => {
  const page = await browser.page(server.url, { viewport: { width: 1000, height: 420 } });
  await lengthen(page);
  await page.locator('[data-goto="settings"]').click();
  await settings(page, { seed: 7, max_tokens: 1200 });
  await send(page, 'Tell me about slices.');
  const gap = () => page.locator('#transcript').evaluate((t) => t.scrollHeight - t.scrollTop - t.clientHeight);
  await eventually('there is something to scroll', async () => page.locator('#transcript').evaluate((t) => t.scrollHeight > 2 * t.clientHeight));
  assert.ok(await gap() < 60, `it follows: gap ${await gap()}`);
  await page.locator('#transcript').hover();
  await page.mouse.wheel(0, -400);
  await eventually('it stays where the user went', async () => await gap() > 200);
  await page.locator('#to-end').click();
  await answered(page);
  assert.ok(await gap() < 60, 'it follows again');
  await page.setViewportSize({ width: 360, height: 500 });
  for (const view of ['chat', 'live', 'chat']) {
    await page.locator(`[data-goto="${view}"]`).click();
    await page.evaluate(() => new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f))));
    assert.ok(view === 'live' || await gap() < 60, 'and is still there when the window or the view was another');
  }
  await clean(page);
});

test('the keyboard is enough', async () => {
  const page = await browser.page(server.url);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'prompt', 'the message box has the focus');
  await page.keyboard.type('one');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('two');
  assert.equal(await page.locator('#prompt').inputValue(), 'one\ntwo');
  assert.equal(await page.locator('.turn').count(), 0, 'Shift+Enter sends nothing');
  await page.keyboard.press('Enter');
  await answered(page);
  assert.equal(await page.locator('.turn.user .bubble').textContent(), 'one\ntwo');
  await page.keyboard.press('ArrowUp');
  assert.equal(await page.locator('#prompt').inputValue(), 'one\ntwo', 'the last message is edited');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#prompt').inputValue(), '', 'Escape leaves editing');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('three');
  await page.keyboard.press('Enter');
  await answered(page);
  assert.deepEqual(await page.locator('.turn.user .bubble').allTextContents(), ['three'], 'the edited message takes the old one’s place');

  await page.locator('body').press('Control+Home');
  await page.evaluate(() => { document.activeElement.blur(); getSelection().removeAllRanges(); document.querySelector('.skip').focus(); });
  const seen = [];
  for (let i = 0; i < 60; i++) {
    seen.push(await page.evaluate(() => {
      const e = document.activeElement;
      const s = getComputedStyle(e);
      const box = e.closest('.row') ?? e;
      const visible = s.outlineStyle !== 'none' || getComputedStyle(box).boxShadow !== 'none' || e === document.body;
      return { id: e.id || e.getAttribute('aria-labelledby') || e.textContent.slice(0, 20), visible };
    }));
    await page.keyboard.press('Tab');
  }
  const order = ['new-chat', 'theme', 'system', 'temperature', 'depth', 'transcript', 'prompt', 'send', 'lane-ple_cached_aux', 'log-filter'].map((id) => seen.findIndex((s) => s.id === id));
  assert.ok(order.every((at, i) => at >= 0 && (i === 0 || at > order[i - 1])), `focus order ${order} in ${JSON.stringify(seen.map((s) => s.id))}`);
  assert.deepEqual(seen.filter((s) => !s.visible), [], 'focus is always visible');
  await clean(page);
});

test('themes: the system’s, then light, then dark, and a choice lasts', async () => {
  const page = await browser.page(server.url, { colorScheme: 'dark' });
  const lightness = () => page.evaluate(() => Math.max(...getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).slice(0, 3).map(Number)));
  assert.ok(await lightness() < 60, 'dark by the system');
  await page.emulateMedia({ colorScheme: 'light' });
  assert.ok(await lightness() > 200, 'light by the system');
  await page.locator('#theme').click();
  await page.locator('#theme').click();
  assert.equal(await page.locator('#theme-name').textContent(), 'dark');
  assert.ok(await lightness() < 60, 'dark by choice');
  await page.reload();
  assert.ok(await lightness() < 60, 'dark after a reload');
  await clean(page);
});

test('a page 360 pixels wide has all three views and nothing sticks out', async () => {
  const page = await browser.page(server.url, { viewport: { width: 360, height: 740 } });
  await send(page, 'What is Go?');
  await answered(page);
  for (const [view, visible, hidden] of [['chat', '#prompt', '.live'], ['live', '#lanes', '#prompt'], ['settings', '#temperature', '.live']]) {
    await page.locator(`[data-goto="${view}"]`).click();
    await page.locator(visible).waitFor();
    assert.equal(await page.locator(hidden).isHidden(), true, `${hidden} in view ${view}`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, `width of view ${view}`);
  }
  await clean(page);
});

test('axe finds nothing to complain about, in light and dark', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.page(server.url, { colorScheme });
    await page.locator('.lane').first().waitFor();
    await send(page, 'What is Go?');
    await answered(page);
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }));
    assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' | ')}`), [], colorScheme);
    await clean(page);
  }
});

test('with API keys the page loads, asks for one, and works with it', async () => {
  const guarded = await serve({ keys: 'tests:correct-horse-battery\n' });
  try {
    const page = await browser.page(guarded.url);
    await page.locator('#key-dialog[open]').waitFor();
    await page.locator('#key').fill('wrong-key-wrong-key');
    await page.keyboard.press('Enter');
    await eventually('the wrong key is refused', async () => await page.locator('#key-dialog[open]').count() === 1 && /not known/.test(await page.locator('#key-why').textContent()));
    await page.locator('#key').fill('correct-horse-battery');
    await page.keyboard.press('Enter');
    await page.locator('#state[data-state="ok"]').waitFor();
    await page.locator('#events-state[data-state="ok"]').waitFor();
    await send(page, 'What is Go?');
    await answered(page);
    assert.equal(await page.locator('.failed').count(), 0);
    assert.deepEqual(await page.evaluate(() => [Object.values(sessionStorage).includes('correct-horse-battery'), JSON.stringify(localStorage).includes('horse'), document.cookie]), [true, false, '']);
    assert.deepEqual(page.faults.filter((f) => !/401/.test(f)), []);
    await page.context().close();
  } finally {
    await guarded.stop();
  }
});

test('settings that cannot be sent are not sent, and what the server refuses is shown in its words', async () => {
  const page = await browser.page(server.url);
  for (const [id, value] of [['seed', '18446744073709551616'], ['seed', '1.5'], ['temperature', '3'], ['top_p', '-1']]) {
    await page.locator(`#${id}`).fill(value);
    await send(page, 'x');
    assert.equal(await page.evaluate(() => document.activeElement.id), id);
    assert.notEqual(await page.locator('#settings-error').textContent(), '');
    assert.equal(await page.locator('.turn').count(), 0);
    await page.locator(`#${id}`).fill('');
  }
  await page.locator('.more summary').click();
  await page.locator('#tools').fill('[{"type": "function", "function": {}}]');
  await send(page, 'x');
  await page.locator('.failed').waitFor();
  assert.match(await page.locator('.failed').textContent(), /tools|name/);
  await page.locator('#tools').fill('');
  await settings(page, { seed: '18446744073709551615', max_tokens: 8 });
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: 'Seed 18446744073709551615: use it from now on' }).waitFor();
  assert.deepEqual(page.faults.filter((f) => !/400/.test(f)), []);
  await page.context().close();
});

test('what a model writes is never markup', async () => {
  const page = await browser.page(server.url);
  const assets = await page.evaluate(() => new URL('.', document.querySelector('script[type="module"]').src).href);
  const attacks = readFileSync(new URL('attacks.txt', import.meta.url), 'utf8').split('\n----\n');
  assert.ok(attacks.length > 10);
  const found = await page.evaluate(async ({ assets, attacks }) => {
    const { renderInto } = await import(`${assets}markdown.js`);
    const allowed = new Set('DIV SPAN P H1 H2 H3 H4 H5 H6 UL OL LI BLOCKQUOTE HR TABLE THEAD TBODY TR TH TD PRE CODE BUTTON A EM STRONG DEL'.split(' '));
    const names = new Set(['class', 'href', 'target', 'rel', 'type', 'start', 'tabindex', 'role', 'aria-label']);
    const bad = [];
    const look = (box, from) => {
      for (const e of box.querySelectorAll('*')) {
        if (!allowed.has(e.tagName)) bad.push(`${e.tagName} from ${from}`);
        for (const a of e.attributes) if (!names.has(a.name)) bad.push(`${a.name} from ${from}`);
        if (e.href && !/^(https?|mailto):/.test(e.href)) bad.push(`${e.href} from ${from}`);
        if (e.tagName === 'A' && !/noopener/.test(e.rel)) bad.push(`rel from ${from}`);
      }
    };
    for (const text of attacks) {
      const grown = document.createElement('div');
      document.body.append(grown);
      for (let cut = 0; cut <= text.length; cut++) { // as it streams in
        renderInto(grown, text.slice(0, cut));
        look(grown, text.slice(0, cut));
      }
      const whole = document.createElement('div');
      renderInto(whole, text);
      if (whole.innerHTML !== grown.innerHTML) bad.push(`streamed and whole differ: ${text}`);
      grown.remove();
    }
    return [...bad, ...(window.pwned ? ['script ran'] : [])];
  }, { assets, attacks });
  assert.deepEqual(found, []);
  const slow = await page.evaluate(async (assets) => {
    const { renderInto } = await import(`${assets}markdown.js`);
    const worst = {};
    for (const unit of ['*', '_a ', '[', '![', '`', '` ', '**a ', '[a](', '> ', '- ', '|', '~~', 'http://', '\\', '#', '* '.repeat(3)]) {
      const begin = performance.now();
      renderInto(document.createElement('div'), unit.repeat(20_000 / unit.length));
      worst[unit] = performance.now() - begin;
    }
    return Object.entries(worst).filter(([, ms]) => ms > 1500);
  }, assets);
  assert.deepEqual(slow, [], 'texts of 20 kB that take long to draw');
  await clean(page);
});
