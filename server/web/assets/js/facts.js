// The line of figures below an answer.

import { copy, el } from './dom.js';
import { millis, num, percent } from './format.js';
import { pinSeed } from './settings.js';

/** facts returns the list items for an answer's usage and details (the server's `flashlane` object). */
export function facts(usage, details, before) {
  const out = [];
  const add = (value, label, title) => out.push(el('li', { title }, el('b', { text: value }), ` ${label}`));
  const t = details?.timings ?? {};
  if (usage) add(num(usage.completion_tokens), 'tokens', `${num(usage.prompt_tokens)} in the prompt`);
  if (t.decode_tok_s > 0) add(num(t.decode_tok_s), 'tok/s', 'decode, from the first to the last token');
  if (details?.rounds > 0) add(num(details.tokens_per_round), 'tokens/round', `${num(details.rounds)} rounds at depth ${details.depth}`);
  const how = usage?.completion_tokens_details;
  const drafted = (how?.accepted_prediction_tokens ?? 0) + (how?.rejected_prediction_tokens ?? 0);
  if (drafted > 0) add(`${num(how.accepted_prediction_tokens)}/${num(drafted)}`, `drafts accepted (${percent(how.accepted_prediction_tokens / drafted)})`);
  if (t.ttft_ms > 0) add(millis(t.ttft_ms), 'to first token', `queue ${millis(t.queue_ms)}, prefill ${millis(t.prefill_ms)} (${num(t.prefill_tok_s)} tok/s)`);
  if (!details) return out;
  out.push(el('li', {}, `depth ${details.depth}, ${details.acceptance}`));
  const lanes = Object.entries(details.lanes ?? {}).map(([name, on]) => `${name} ${on ? 'on' : 'off'}`).join(', ');
  if (lanes) out.push(el('li', { title: lanes }, `lanes ${Object.values(details.lanes).filter(Boolean).length}/${Object.keys(details.lanes).length} on`));
  if (details.restarts > 0) out.push(el('li', { title: 'an actor was restarted on the way; the bytes are the same' }, `rebuilt ${details.restarts}×`));
  const seed = el('button', { type: 'button', class: 'small', text: String(details.seed), title: 'Use this seed from now on', 'aria-label': `Seed ${details.seed}: use it from now on`,
    on: { click: () => pinSeed(String(details.seed)) } });
  out.push(el('li', {}, 'seed ', seed));
  if (typeof details.tokens_sha256 === 'string') {
    const digest = details.tokens_sha256;
    const button = el('button', { type: 'button', class: 'small', text: digest.slice(0, 10), title: `SHA-256 of the token ids: ${digest}`, 'aria-label': `Digest ${digest}: copy`,
      on: { click: () => copy(digest, button) } });
    out.push(el('li', {}, 'digest ', button));
    if (before) out.push(el('li', {}, before === digest ? el('span', { class: 'same', text: '✓ same tokens as before' }) : el('span', { class: 'differs', text: '✗ other tokens than before' })));
  }
  return out;
}
