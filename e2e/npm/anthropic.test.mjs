import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { serve } from './server.mjs';

const { url } = await serve();
const client = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 });
const ask = { model: 'nano', max_tokens: 2000, temperature: 0, messages: [{ role: 'user', content: 'Hello' }] };
const bare = ({ content }) => content.map(({ id, ...rest }) => rest);

for (const thinking of [undefined, { type: 'adaptive' }, { type: 'enabled', budget_tokens: 1024 }]) {
  test(`a streamed message is the whole message, thinking ${thinking?.type ?? 'not asked for'}`, async () => {
    const params = thinking ? { ...ask, thinking } : ask;
    const whole = await client.messages.create(params);
    const stream = client.messages.stream(params);
    const seen = [];
    stream.on('streamEvent', (e) => seen.push(e.type));
    const streamed = await stream.finalMessage();
    assert.deepEqual(bare(streamed), bare(whole));
    assert.equal(streamed.stop_reason, 'end_turn');
    assert.equal(streamed.usage.output_tokens, whole.usage.output_tokens);
    assert.equal(whole.content[0].type, thinking ? 'thinking' : 'text');
    assert.equal(seen[0], 'message_start');
    assert.equal(seen.at(-1), 'message_stop');
  });
}

const tools = [{ name: 'get_weather', description: 'The weather', input_schema: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city', 'days'] } }];

test('a tool call streams, and its result goes back', async () => {
  const params = { ...ask, tools, tool_choice: { type: 'tool', name: 'get_weather' }, messages: [{ role: 'user', content: 'Weather in Rome for 3 days?' }] };
  const pieces = [];
  const stream = client.messages.stream(params).on('inputJson', (piece) => pieces.push(piece));
  const message = await stream.finalMessage();
  assert.equal(message.stop_reason, 'tool_use');
  const use = message.content.find((b) => b.type === 'tool_use');
  assert.deepEqual(Object.keys(use.input), ['city', 'days']);
  assert.deepEqual(JSON.parse(pieces.join('')), use.input);
  const next = await client.messages.create({ ...params, tool_choice: { type: 'none' }, messages: [...params.messages, { role: 'assistant', content: message.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: [{ type: 'text', text: 'Sunny.' }] }] }] });
  assert.ok(['end_turn', 'max_tokens'].includes(next.stop_reason));
});

test('a call that the limit cut is still readable', async () => {
  const stream = client.messages.stream({ ...ask, max_tokens: 20, tools, tool_choice: { type: 'any' } });
  const message = await stream.finalMessage();
  assert.equal(message.stop_reason, 'max_tokens');
});

test('tokens are counted as they are used', async () => {
  const { input_tokens } = await client.messages.countTokens({ model: 'nano', messages: ask.messages, system: 'Be short.' });
  const { usage } = await client.messages.create({ ...ask, max_tokens: 1, system: 'Be short.' });
  assert.equal(usage.input_tokens + usage.cache_read_input_tokens, input_tokens);
});

test('errors are Anthropic errors', async () => {
  await assert.rejects(client.messages.create({ ...ask, model: 'claude' }), (e) => e instanceof Anthropic.NotFoundError && e.error.error.type === 'not_found_error' && Boolean(e.requestID));
  await assert.rejects(client.messages.create({ ...ask, zzz: 1 }), (e) => e instanceof Anthropic.BadRequestError && e.message.includes('zzz'));
});

test('models', async () => {
  const page = await client.models.list();
  assert.deepEqual(page.data.map((m) => m.id), ['nano']);
});
