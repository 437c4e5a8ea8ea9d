// The conversation: its turns, the composer, and the one answer that may be running.

import { byId, setText } from './dom.js';
import { num } from './format.js';
import { body, messages } from './history.js';
import { request, showDefaults } from './settings.js';
import { complete } from './stream.js';
import { AnswerView, toolView, userView } from './turns.js';

const views = []; // in order; a view has turn and root
let running = null; // the AbortController of the running answer
let editing = -1; // index of the user's turn that the composer holds, -1: none
let hooks = { prefill() {} };
let following = true; // the transcript stays at its end until the user scrolls away

const prompt = byId('prompt');
const transcript = byId('transcript');

/** startChat wires the composer. given.prefill(done, total) is told of prefill progress; done = total when it is over. */
export function startChat(given) {
  hooks = given;
  byId('composer').addEventListener('submit', (e) => { e.preventDefault(); send(); });
  prompt.addEventListener('keydown', (e) => {
    if (e.isComposing) return;
    if (e.key === 'Enter' && !e.shiftKey && !e.altKey) { e.preventDefault(); send(); }
    if (e.key === 'ArrowUp' && prompt.value === '' && !running) { e.preventDefault(); edit(); }
  });
  document.addEventListener('keydown', (e) => {
    if (e.key !== 'Escape' || document.querySelector('dialog[open]')) return;
    if (running) stop();
    else if (editing >= 0) endEdit(true);
  });
  prompt.addEventListener('input', grow);
  byId('stop').addEventListener('click', stop);
  byId('cancel-edit').addEventListener('click', () => endEdit(true));
  byId('new-chat').addEventListener('click', () => { stop(); cut(0); endEdit(true); prompt.focus(); });
  byId('to-end').addEventListener('click', () => { following = true; follow(); });
  let box = '';
  const size = () => `${transcript.clientWidth} ${transcript.clientHeight}`;
  transcript.addEventListener('scroll', () => { // growth alone does not fire this: it is the user, or follow ...
    if (transcript.clientHeight === 0 || size() !== box) return; // ... or another size, or a view that comes and goes
    following = transcript.scrollHeight - transcript.scrollTop - transcript.clientHeight < 60;
    byId('to-end').hidden = following;
  }, { passive: true });
  new ResizeObserver(() => { box = size(); follow(); }).observe(transcript);
}

/** countRound counts the tokens of the running answer from a round event, for the count beside its reasoning. */
export function countRound({ request, tokens }) {
  const view = views.at(-1);
  if (!running || view?.turn.id !== request) return;
  view.turn.tokens += tokens;
  view.update();
}

function grow() { // for browsers without field-sizing
  if (CSS.supports('field-sizing', 'content')) return;
  prompt.style.height = 'auto';
  prompt.style.height = `${prompt.scrollHeight}px`;
}

/** follow is called after every change of the transcript. */
function follow() {
  if (following) transcript.scrollTop = transcript.scrollHeight;
  byId('to-end').hidden = following;
}

function add(view) {
  views.push(view);
  byId('welcome').hidden = true;
  transcript.append(view.root);
  following = true;
  follow();
}

/** cut takes away every turn from index n on. */
function cut(n) {
  for (const v of views.splice(n)) v.root.remove();
  byId('welcome').hidden = views.length > 0;
  offer();
}

/** offer puts the actions where they belong: on the last user's turn and the last answer. */
function offer() {
  const lastUser = views.findLastIndex((v) => v.turn.role === 'user');
  views.forEach((v, i) => {
    if (v.turn.role === 'assistant') {
      const last = i === views.length - 1 && !running;
      v.offer({ regenerate: last ? () => again(false) : null, repeat: last ? () => again(true) : null });
    }
    if (v.turn.role === 'user') {
      v.actions.remove();
      if (i === lastUser && !running) {
        v.actions.replaceChildren(editButton());
        v.root.append(v.actions);
      }
    }
  });
}

function editButton() {
  const b = document.createElement('button');
  b.type = 'button';
  b.className = 'small';
  b.textContent = 'Edit';
  b.addEventListener('click', edit);
  return b;
}

function edit() {
  const at = views.findLastIndex((v) => v.turn.role === 'user');
  if (at < 0 || running) return;
  editing = at;
  byId('editing').hidden = false;
  prompt.value = views[at].turn.content;
  grow();
  prompt.focus();
  prompt.setSelectionRange(prompt.value.length, prompt.value.length);
}

function endEdit(clear) {
  editing = -1;
  byId('editing').hidden = true;
  if (clear) prompt.value = '';
  grow();
}

function send() {
  const text = prompt.value;
  if (running || text.trim() === '') return;
  const asked = request();
  if (!asked) return;
  if (editing >= 0) cut(editing);
  endEdit(true);
  add(userView({ role: 'user', content: text }));
  answer(asked.fields, asked.seed, asked.system);
}

/** result takes what the user typed for a tool call; when no call is open any more the model goes on. */
function result(view, call, text) {
  if (running || views.at(-1) !== view && views.at(-1).turn.role !== 'tool') return;
  const asked = request();
  if (!asked) return;
  call.result = text;
  view.update();
  add(toolView({ role: 'tool', call: call.id, content: text }));
  if (view.turn.calls.every((c) => c.result !== undefined)) answer(asked.fields, asked.seed, asked.system);
  prompt.focus();
}

/** again replaces the last answer: with what the settings say now, or (same) by the very same request with the same seed. */
function again(same) {
  const last = views.at(-1)?.turn;
  if (running || last?.role !== 'assistant') return;
  const asked = request();
  if (!asked) return;
  cut(views.length - 1);
  if (same) answer(last.request, String(last.details.seed), null, last.details.tokens_sha256);
  else answer(asked.fields, asked.seed, asked.system);
  prompt.focus();
}

/** answer asks for the next turn and sees it through. With system null, fields are a whole request already. */
async function answer(fields, seed, system, before) {
  const whole = system === null ? fields : { ...fields, messages: messages(views.map((v) => v.turn), system) };
  const turn = { role: 'assistant', state: 'running', id: '', tokens: 1, reasoning: '', content: '', calls: [], finish: '', usage: null, details: null, error: '', request: whole };
  const view = new AnswerView(turn, { drawn: follow, result: (call, text) => result(view, call, text) });
  running = new AbortController();
  const { signal } = running;
  add(view);
  busy(true);
  let prefilling = false;
  const prefilled = () => { if (prefilling) { prefilling = false; hooks.prefill(1, 1); } };
  const on = {
    accepted: (id) => { turn.id = id; setText(view.waitText, 'Reading the prompt'); },
    prefill: (done, total) => { prefilling = true; view.prefill(done, total); hooks.prefill(done, total); },
    reasoning: (text) => { prefilled(); turn.reasoning += text; view.update(); },
    content: (text) => { prefilled(); turn.content += text; view.update(); },
    call: (i, { id, name, args }) => {
      prefilled();
      turn.calls[i] ??= { id: id ?? '', name: name ?? '', args: '' };
      turn.calls[i].args += args;
      view.update();
    },
  };
  try {
    Object.assign(turn, await complete(body(whole, seed), on, signal), { state: 'done' });
    learn(turn);
  } catch (e) {
    turn.state = signal.aborted ? 'stopped' : 'failed';
    turn.error = e.message;
  }
  prefilled();
  if (running?.signal === signal) running = null;
  view.finish(typeof before === 'string' ? before : undefined);
  busy(false);
  follow();
  setText(byId('said'), { done: `Answer complete, ${num(turn.usage?.completion_tokens ?? 0)} tokens.`, stopped: 'Stopped.', failed: '' }[turn.state]);
}

/** learn takes the server's defaults from an answer: what was not asked for was filled in by the server. */
function learn(turn) {
  const replay = turn.details?.replay ?? {};
  showDefaults(Object.fromEntries(['temperature', 'top_p', 'top_k', 'min_p'].filter((n) => !(n in turn.request)).map((n) => [n, replay[n]])));
}

function busy(on) {
  byId('send').hidden = on;
  const stopButton = byId('stop');
  if (!on && document.activeElement === stopButton) prompt.focus();
  stopButton.hidden = !on;
  if (on) setText(byId('said'), 'Answering.');
  offer();
}

/** stop ends the running answer; what came of it stays. The server frees the request when the connection closes. */
function stop() {
  running?.abort();
}
