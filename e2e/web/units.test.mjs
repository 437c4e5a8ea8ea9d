// Modules that need no browser, from the source tree.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

/** load imports a module of the page that imports nothing itself; its folder has no package.json to say that it is one. */
const load = (name) => {
  const text = readFileSync(new URL(`../../server/web/assets/js/${name}`, import.meta.url), 'utf8');
  assert.doesNotMatch(text, /^import /m, `${name} stands alone`);
  return import(`data:text/javascript,${encodeURIComponent(text)}`);
};

test('events come out the same wherever the bytes are cut', async () => {
  const { readEvents } = await load('sse.js');
  const source = '\ufeff: hello prefill 3/9\n\ndata: {"a":"ü😀"}\n\nevent: lane\r\ndata: x\r\ndata:y\r\n\r\nid: 7\rdata\r\r: bye\nretry: 9\n\nevent: none\n\ndata: [DONE]\n\ndata: cut';
  const want = { events: [{ event: 'message', data: '{"a":"ü😀"}' }, { event: 'lane', data: 'x\ny' }, { event: 'message', data: '' }, { event: 'message', data: '[DONE]' }], comments: ['hello prefill 3/9', 'bye'] };
  const bytes = new TextEncoder().encode(source);
  const read = async (pieces) => {
    const got = { events: [], comments: [] };
    const stream = new ReadableStream({ start(c) { for (const p of pieces) c.enqueue(p); c.close(); } });
    await readEvents(stream, { onEvent: (e) => got.events.push(e), onComment: (t) => got.comments.push(t) });
    return got;
  };
  for (let at = 0; at <= bytes.length; at++) assert.deepEqual(await read([bytes.slice(0, at), bytes.slice(at)]), want, `cut at ${at}`);
  assert.deepEqual(await read([...bytes].map((b) => Uint8Array.of(b))), want, 'one byte at a time');
});

test('a handler that throws ends the reading with its error and gives the connection back', async () => {
  const { readEvents } = await load('sse.js');
  let cancelled = false;
  const stream = new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('data: 1\n\n')); }, cancel() { cancelled = true; } });
  await assert.rejects(readEvents(stream, { onEvent: () => { throw new Error('mine'); } }), /mine/);
  assert.equal(cancelled, true);
});

test('metrics: figures by name and label, deltas over a window, and a server that was started anew', async () => {
  const { parseMetrics, Recorder } = await load('metrics.js');
  const page = (tokens, accepted) => parseMetrics(`# HELP flashlane_tokens_total x\n# TYPE flashlane_tokens_total counter\nflashlane_tokens_total ${tokens}\nflashlane_drafts_accepted_total{depth="2"} ${accepted}\nflashlane_http_requests_total{code="200",method="GET",route="/"} 5\ngo_goroutines 9\nflashlane_device_loaded_bytes 4.5212352e+07\n`);
  const figures = page(10, 3);
  assert.deepEqual([...figures], [['flashlane_tokens_total', 10], ['flashlane_drafts_accepted_total 2', 3], ['flashlane_device_loaded_bytes', 45212352]]);
  const r = new Recorder(60);
  assert.ok(Number.isNaN(r.latest('flashlane_tokens_total')));
  for (let s = 0; s <= 100; s++) r.add(s, page(10 * s, s));
  assert.deepEqual(r.delta('flashlane_tokens_total', 1), { by: 10, over: 1 });
  assert.deepEqual(r.delta('flashlane_tokens_total', 30), { by: 300, over: 30 });
  assert.deepEqual(r.delta('flashlane_drafts_accepted_total 2', 999), { by: 60, over: 60 });
  assert.equal(r.latest('flashlane_tokens_total'), 1000);
  r.add(101, page(5, 1));
  assert.equal(r.delta('flashlane_tokens_total', 30).over, 0, 'nothing is known before the new start');
});

test('messages: reasoning goes back, what was cut does not, and a seed keeps its 64 bits', async () => {
  const { body, messages } = await load('history.js');
  const call = (args) => ({ id: 'c1', name: 'f', args });
  const answer = (t) => ({ role: 'assistant', content: '', reasoning: '', calls: [], ...t });
  assert.deepEqual(messages([
    { role: 'user', content: 'a' }, answer({ content: 'b', reasoning: 'r' }), { role: 'user', content: 'c' }, answer({}), { role: 'user', content: 'd' },
    answer({ calls: [call('{"x": 1}'), call('{"x"')] }), { role: 'tool', call: 'c1', content: '42' }], ' s '), [
    { role: 'system', content: ' s ' }, { role: 'user', content: 'a' }, { role: 'assistant', content: 'b', reasoning_content: 'r' }, { role: 'user', content: 'c' },
    { role: 'user', content: 'd' }, { role: 'assistant', content: '', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"x": 1}' } }] },
    { role: 'tool', tool_call_id: 'c1', content: '42' }]);
  assert.deepEqual(messages([], '  '), []);
  assert.match(body({ depth: 2 }, '18446744073709551615'), /,"seed":18446744073709551615\}$/);
  assert.match(body({}, '-1'), /"seed":-1\}$/);
  assert.equal('seed' in JSON.parse(body({}, '')), false);
});

test('figures are written as people read them', async () => {
  const { bytes, duration, millis, num, percent } = await load('format.js');
  assert.deepEqual([num(0), num(2.345), num(45.67), num(456.7), num(12345.6), num(NaN)], ['0', '2.35', '45.7', '457', '12,346', '–']);
  assert.deepEqual([bytes(0), bytes(1536), bytes(45212352), bytes(NaN)], ['0 B', '1.5 KiB', '43.1 MiB', '–']);
  assert.deepEqual([millis(4.26), millis(42.7), millis(1234)], ['4.3 ms', '43 ms', '1.23 s']);
  assert.deepEqual([percent(0), percent(0.055), percent(0.5), percent(1), percent(0 / 0)], ['0%', '5.5%', '50%', '100%', '–']);
  assert.deepEqual([duration(0.4), duration(59), duration(60), duration(1234), duration(3600), duration(90061)], ['0 s', '59 s', '1 min', '20 min 34 s', '1 h', '1 d 1 h']);
});
