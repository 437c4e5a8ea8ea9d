// How the turns of a conversation look. A view knows its turn's data and nothing of the conversation.

import { copy, el, setAttr, setText } from './dom.js';
import { facts } from './facts.js';
import { num } from './format.js';
import { renderInto } from './markdown.js';

let charsPerToken = 3.6; // learned from answers that ended; for counts before the server tells

const small = (text, click, title) => el('button', { type: 'button', class: 'small', text, title, on: { click: (e) => click(e.currentTarget) } });

/** userView shows what the user said. */
export function userView(turn) {
  return { turn, actions: el('div', { class: 'actions' }), ...wrap('user', 'You', el('div', { class: 'bubble', text: turn.content })) };
}

/** toolView shows a tool's result as the user typed it. */
export function toolView(turn) {
  return { turn, ...wrap('tool', 'Tool result', el('div', { class: 'bubble', text: turn.content })) };
}

function wrap(role, name, ...children) {
  return { root: el('article', { class: `turn ${role}`, 'aria-label': name }, ...children) };
}

/** AnswerView shows an answer while it comes and after. update draws at most once a frame. */
export class AnswerView {
  #frame = 0;
  #cards = [];
  #thought = 0; // tokens of the reasoning, until the server tells

  /** on.drawn() is called after every draw, on.result(call, text) when the user has typed a tool's result. */
  constructor(turn, on) {
    this.turn = turn;
    this.on = on;
    this.summary = el('summary', { text: 'Thinking' });
    this.thought = el('div', { class: 'text' });
    this.think = el('details', { class: 'think', hidden: true }, this.summary, this.thought);
    this.body = el('div', { class: 'md' });
    this.calls = el('div', { class: 'md' });
    this.waitText = el('span', { text: 'Waiting for the first token' });
    this.waitBar = el('progress', { 'aria-label': 'Prefill' });
    this.wait = el('div', { class: 'waiting' }, this.waitText, this.waitBar);
    this.note = el('p', { class: 'cut', hidden: true });
    this.facts = el('ul', { class: 'facts', hidden: true });
    this.actions = el('div', { class: 'actions' });
    this.root = el('article', { class: 'turn assistant', 'aria-label': 'Answer', 'aria-busy': 'true' },
      this.think, this.body, this.calls, this.wait, this.note, this.facts, this.actions);
  }

  /** prefill shows how far the prompt is. */
  prefill(done, total) {
    setText(this.waitText, `Reading the prompt: ${num(done)} of ${num(total)} tokens`);
    this.waitBar.max = total;
    this.waitBar.value = done;
  }

  update() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
      this.on.drawn();
    });
  }

  #draw() {
    const t = this.turn;
    const spoke = t.reasoning !== '' || t.content !== '' || t.calls.length > 0;
    this.wait.hidden = spoke || t.state !== 'running';
    if (t.reasoning !== '') {
      this.think.hidden = false;
      const now = t.state === 'running' && t.content === '' && t.calls.length === 0;
      this.think.classList.toggle('now', now);
      const exact = t.usage?.completion_tokens_details?.reasoning_tokens;
      if (now && t.tokens > 1) this.#thought = t.tokens; // from the rounds
      this.#thought ||= Math.ceil(t.reasoning.length / charsPerToken);
      const count = exact === undefined ? `about ${num(this.#thought)} tokens` : `${num(exact)} tokens`;
      setText(this.summary, `${now ? 'Thinking' : 'Thought'} · ${count}`);
      if (this.think.open || !now) setText(this.thought, t.reasoning.trim());
      else this.think.ontoggle = () => setText(this.thought, t.reasoning.trim());
    }
    renderInto(this.body, t.content);
    t.calls.forEach((call, i) => this.#card(call, i));
  }

  #card(call, i) {
    if (!this.#cards[i]) {
      const name = el('b');
      const state = el('span');
      const args = el('pre', { tabindex: '0' });
      const root = el('section', { class: 'call', 'aria-label': 'Tool call' }, el('div', { class: 'head' }, '⚙', name, state), args);
      this.calls.append(root);
      this.#cards[i] = { root, name, state, args, reply: null };
    }
    const card = this.#cards[i];
    const done = this.turn.state !== 'running' || i < this.turn.calls.length - 1;
    setText(card.name, call.name || '…');
    setText(card.state, !done ? 'is being written' : call.args !== null && readable(call.args) === null ? 'cut off' : call.result === undefined ? 'waits for its result' : 'answered');
    setText(card.args, done ? readable(call.args) ?? call.args : call.args);
    const wanted = done && this.turn.state !== 'running' && call.result === undefined && readable(call.args) !== null;
    if (wanted && !card.reply) {
      const input = el('textarea', { rows: '1', class: 'mono', 'aria-label': `Result of ${call.name}`, placeholder: 'Result' });
      card.reply = el('form', { class: 'reply', on: { submit: (e) => { e.preventDefault(); this.on.result(call, input.value); } } },
        input, el('button', { type: 'submit', text: 'Give result' }));
      card.root.append(card.reply);
    } else if (!wanted && card.reply) {
      card.reply.remove();
      card.reply = null;
    }
  }

  /** finish draws the end: the turn's state, note, facts and actions. before is an earlier digest to compare with. */
  finish(before) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const t = this.turn;
    if (t.usage?.completion_tokens > 20) charsPerToken = Math.max(0.5, (t.reasoning.length + t.content.length + t.calls.reduce((n, c) => n + c.args.length, 0)) / t.usage.completion_tokens);
    this.#draw();
    const note = { stopped: 'Stopped by you.', failed: t.error }[t.state] ?? (t.finish === 'length' ? 'Cut off: the limit of tokens was reached.' : '');
    setText(this.note, note);
    this.note.className = t.state === 'failed' ? 'failed' : 'cut';
    this.note.hidden = note === '';
    if (t.state === 'failed') setAttr(this.note, 'role', 'alert');
    this.facts.replaceChildren(...facts(t.usage, t.details, before));
    this.facts.hidden = this.facts.children.length === 0;
    setAttr(this.root, 'aria-busy', 'false');
  }

  /** offer shows what can be done with the answer: {repeat, regenerate}, functions or null. */
  offer({ regenerate, repeat }) {
    const t = this.turn;
    this.actions.replaceChildren();
    if (t.state === 'running') return;
    if (t.content) this.actions.append(small('Copy', (b) => copy(t.content, b)));
    if (regenerate) this.actions.append(small(t.state === 'failed' ? 'Try again' : 'Regenerate', regenerate));
    if (repeat && t.details) this.actions.append(small('Repeat with the same seed', repeat, 'Runs the very same request again and compares the tokens'));
  }
}

/** readable is JSON text laid out, or null when it is not (or not yet) JSON of an object. */
function readable(text) {
  try {
    const v = JSON.parse(text);
    return v !== null && typeof v === 'object' ? JSON.stringify(v, null, 2) : null;
  } catch {
    return null;
  }
}
