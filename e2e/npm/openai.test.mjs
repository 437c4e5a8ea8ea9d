import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { serve, until } from './server.mjs';

const { url, log } = await serve();
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
const messages = [{ role: 'user', content: 'Hello' }];
const greedy = { model: 'nano', messages, temperature: 0, seed: 1, max_completion_tokens: 200 };

test('a streamed answer is the whole answer', async () => {
  const whole = await client.chat.completions.create(greedy);
  const stream = client.chat.completions.stream({ ...greedy, stream_options: { include_usage: true } });
  const streamed = await stream.finalChatCompletion();
  assert.equal(streamed.choices[0].message.content, whole.choices[0].message.content);
  assert.equal(streamed.choices[0].finish_reason, 'stop');
  assert.equal(streamed.usage.completion_tokens, whole.usage.completion_tokens);
  assert.ok(whole.choices[0].message.reasoning_content);
});

test('logprobs have tokens and bytes', async () => {
  const got = await client.chat.completions.create({ ...greedy, logprobs: true, top_logprobs: 2, max_completion_tokens: 8 });
  const list = got.choices[0].logprobs.content;
  assert.equal(list.length, 8);
  for (const e of list) {
    assert.equal(Buffer.from(e.bytes).toString(), e.token);
    assert.equal(e.top_logprobs.length, 2);
    assert.ok(e.logprob <= 0);
  }
});

const tools = [{
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Bern', 'Rome'] } }, required: ['city'], additionalProperties: false },
  },
}];

test('a tool call streams, and its result goes back', async () => {
  const stream = client.chat.completions.stream({ ...greedy, tools, tool_choice: 'required', parallel_tool_calls: false });
  const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0];
  assert.equal(finish_reason, 'tool_calls');
  assert.equal(message.tool_calls.length, 1);
  const { city } = JSON.parse(message.tool_calls[0].function.arguments);
  assert.ok(['Bern', 'Rome'].includes(city));
  // The SDK gives its own message back, with fields such as parsed in it.
  const next = await client.chat.completions.create({ ...greedy, messages: [...messages, message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'Sunny.' }] });
  assert.ok(next.choices[0].message.content);
});

test('a JSON schema is kept', async () => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' }, n: { type: 'integer' } }, required: ['ok', 'n'], additionalProperties: false };
  const got = await client.chat.completions.parse({ ...greedy, temperature: 1.5, max_completion_tokens: 600, response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } });
  const doc = JSON.parse(got.choices[0].message.content);
  assert.deepEqual(Object.keys(doc), ['ok', 'n']);
  assert.equal(typeof doc.ok, 'boolean');
  assert.ok(Number.isInteger(doc.n));
});

test('responses: events assemble to the response', async () => {
  const ask = { model: 'nano', input: 'Hello', temperature: 0, max_output_tokens: 200, store: false };
  const whole = await client.responses.create(ask);
  const stream = client.responses.stream(ask);
  let text = '';
  stream.on('response.output_text.delta', (e) => { text += e.delta; });
  const final = await stream.finalResponse();
  assert.equal(final.status, 'completed');
  assert.equal(text, whole.output_text);
  assert.equal(final.output_text, whole.output_text);
});

test('completions: scoring', async () => {
  const got = await client.completions.create({ model: 'nano', prompt: ['Once upon', 'a time'], echo: true, logprobs: 0, max_tokens: 0 });
  assert.deepEqual(got.choices.map((c) => c.text), ['Once upon', 'a time']);
  for (const { logprobs } of got.choices) {
    assert.equal(logprobs.token_logprobs[0], null);
    assert.ok(logprobs.token_logprobs.slice(1).every((p) => p < 0));
  }
});

test('leaving in mid-stream frees the slot', async () => {
  const stream = await client.chat.completions.create({ ...greedy, temperature: 2, max_completion_tokens: 3000, logit_bias: { 8185: -100 }, stream: true });
  let id;
  for await (const chunk of stream) {
    id = chunk.id;
    break; // aborts the request
  }
  await until(() => log.some((line) => line.includes(id) && line.includes('client disconnected')), `${id} is logged as gone`);
  await until(async () => (await (await fetch(`${url}/health`)).json()).active === 0, 'nothing is at work');
});

test('a refusal names the field', async () => {
  await assert.rejects(client.chat.completions.create({ ...greedy, store: true }), (e) => e.status === 400 && e.param === 'store' && e.code === 'unsupported_parameter');
});
