// One streamed chat completion.

import { ApiError, errorOf, open, parse } from './api.js';
import { readEvents } from './sse.js';

/**
 * complete posts a body (JSON text with "stream": true) and tells what comes, piece by piece:
 *   on.accepted(id)          the server has taken the request
 *   on.prefill(done, total)  tokens of the prompt that are worked through
 *   on.reasoning(text), on.content(text)
 *   on.call(index, {id, name, args})  args is a piece of the arguments' JSON text
 * It returns {finish, usage, details} of a stream that ended as it should. Errors: ApiError, or AbortError by the signal.
 */
export async function complete(body, on, signal) {
  const answer = { finish: '', usage: null, details: null };
  let ended = false;
  const response = await open('/v1/chat/completions', { method: 'POST', body, signal });
  let announced = false;
  const onEvent = ({ data }) => {
    if (data === '[DONE]') {
      ended = true;
      return;
    }
    const chunk = parse(data);
    if (chunk.error) throw errorOf(chunk, response.status);
    if (!announced) {
      announced = true;
      on.accepted(chunk.id);
    }
    if (chunk.usage) answer.usage = chunk.usage;
    if (chunk.flashlane) answer.details = chunk.flashlane;
    for (const choice of chunk.choices ?? []) {
      if (choice.finish_reason) answer.finish = choice.finish_reason;
      const delta = choice.delta ?? {};
      if (delta.reasoning_content) on.reasoning(delta.reasoning_content);
      if (delta.content) on.content(delta.content);
      for (const c of delta.tool_calls ?? []) on.call(c.index ?? 0, { id: c.id, name: c.function?.name, args: c.function?.arguments ?? '' });
    }
  };
  const onComment = (text) => {
    const m = /prefill (\d+)\/(\d+)/.exec(text);
    if (m) on.prefill(Number(m[1]), Number(m[2]));
  };
  try {
    await readEvents(response.body, { onEvent, onComment });
  } catch (e) {
    if (e.name === 'AbortError' || e instanceof ApiError) throw e;
    throw new ApiError(`The connection broke: ${e.message}`);
  }
  if (!ended) throw new ApiError('The stream ended before the answer did.');
  return answer;
}
