// The live panel: polls /metrics and /health while the page is seen, lanes and actors less often, and listens to events.

import { ApiError, call, isLocked, open } from './api.js';
import { refreshActors } from './actors.js';
import { Chart } from './charts.js';
import { byId, el, setAttr, setText } from './dom.js';
import { startEvents } from './events.js';
import { duration, bytes, num, percent } from './format.js';
import { countLanes, refreshLanes, showLane } from './lanes.js';
import { parseMetrics, Recorder } from './metrics.js';

const EVERY = 1000; // ms between polls
const RARELY = 10; // polls between looks at what events tell anyway
const MAX_DEPTH = 7;
const record = new Recorder(120);
let charts = [];

/** startLive begins. on.health is told every /health answer, on.lost that there is none, on.round every round event. It returns {recolour, resume}. */
export function startLive(on) {
  charts = [new Chart('chart-rate', '--accent', 10), new Chart('chart-round', '--accent-3', 2)];
  let polls = 0;
  let timer = 0;
  let soon = 0;
  const poll = async () => {
    clearTimeout(timer);
    if (document.hidden || isLocked()) return;
    const slow = polls++ % RARELY === 0;
    try {
      const jobs = [measure(), call('/health').then((h) => { on.health(h); health(h); })];
      if (slow) jobs.push(refreshLanes(), refreshActors());
      await Promise.all(jobs);
      banner('');
    } catch (e) {
      if (e.status !== 401) banner(e instanceof ApiError && e.status === 0 ? 'The server does not answer. It is tried again.' : e.message);
      on.lost(e);
      polls = 0;
    }
    clearTimeout(timer);
    timer = setTimeout(poll, EVERY);
  };
  document.addEventListener('visibilitychange', () => { if (!document.hidden) poll(); });
  const quietly = (f) => f().catch(() => {}); // the poll tells of errors
  const restart = startEvents({
    open: () => { quietly(refreshActors); quietly(refreshLanes); },
    event: (type, data) => {
      if (type === 'lane') showLane(data);
      if (type === 'round') on.round(data);
      if (type === 'supervision') quietly(refreshActors);
      if (type === 'supervision' || type === 'request') soon ||= setTimeout(() => { soon = 0; quietly(refreshActors); }, 400); // it runs again; it is gone
    },
  });
  poll();
  return { recolour: () => charts.forEach((c) => c.recolour()), resume: () => { polls = 0; poll(); restart(); } };
}

function banner(text) {
  const b = byId('banner');
  b.hidden = text === '';
  setText(b, text);
}

async function measure() {
  const text = await (await open('/metrics')).text();
  const at = performance.timeOrigin / 1000 + performance.now() / 1000;
  record.add(at, parseMetrics(text));
  const tokens = record.delta('flashlane_tokens_total', 1);
  const rate = tokens.over > 0 ? tokens.by / tokens.over : NaN;
  const round = perRound(1);
  setText(byId('now-rate'), num(rate));
  setText(byId('now-round'), num(Number.isFinite(round) ? round : perRound(120)));
  if (Number.isFinite(rate)) {
    charts[0].add(at, Math.max(0, rate));
    charts[1].add(at, Number.isFinite(round) ? round : null);
  }
  acceptance();
  countLanes((name, lane) => record.latest(`${name} ${lane}`));
}

/** perRound is one committed token plus the drafts that were accepted and emitted, per round. */
function perRound(seconds) {
  const rounds = record.delta('flashlane_rounds_total', seconds).by;
  let accepted = 0;
  for (let d = 1; d <= MAX_DEPTH; d++) accepted += record.delta(`flashlane_drafts_accepted_total ${d}`, seconds).by || 0;
  return rounds > 0 ? 1 + accepted / rounds : NaN;
}

/** acceptance shows the last minute when drafts were judged in it, else all since the start. */
function acceptance() {
  const minute = (what, d) => record.delta(`flashlane_drafts_${what}_total ${d}`, 60).by;
  const start = (what, d) => record.latest(`flashlane_drafts_${what}_total ${d}`);
  const recent = minute('judged', 1) > 0;
  const of = recent ? minute : start;
  let [judged, accepted] = [0, 0];
  const body = byId('depths');
  let shown = 0;
  for (let d = 1; d <= MAX_DEPTH; d++) {
    const [j, a] = [of('judged', d) || 0, of('accepted', d) || 0];
    if (j === 0) continue;
    judged += j;
    accepted += a;
    const row = body.children[shown] ?? body.appendChild(el('tr', {}, el('th', { scope: 'row' }), el('td', { class: 'bar' }, el('meter', { min: 0, max: 1 })), el('td'), el('td', { class: 'note' })));
    shown++;
    row.dataset.depth = d;
    setText(row.children[0], String(d));
    const meter = row.children[1].firstChild;
    meter.value = a / j;
    setAttr(meter, 'aria-label', `Depth ${d}: ${percent(a / j)}`);
    setText(row.children[2], percent(a / j));
    setText(row.children[3], `${num(a)} of ${num(j)}`);
  }
  while (body.children.length > shown) body.lastElementChild.remove();
  byId('depths-none').hidden = shown > 0;
  setText(byId('accept-span'), recent ? 'last minute' : 'since start');
  setText(byId('now-accept'), judged > 0 ? percent(accepted / judged) : '–');
}

function health(h) {
  setText(byId('now-active'), h.slots > 0 ? `${h.active}/${h.slots}` : String(h.active ?? '–'));
  const m = h.memory ?? {};
  const parts = [['weights', m.weights, 'c1'], ['sequences', m.sequences, 'c2'], ['row cache', m.row_cache, 'c3']];
  const whole = Math.max(m.limit || 0, parts.reduce((n, [, v]) => n + (v || 0), 0), 1);
  const bar = byId('memory-bar');
  if (bar.children.length === 0) bar.append(...parts.map(([, , c]) => el('i', { class: c })));
  parts.forEach(([, v], i) => { bar.children[i].style.flex = `0 0 ${(100 * (v || 0)) / whole}%`; });
  pairs(byId('memory'), [...parts.map(([name, v, c]) => [name, bytes(v ?? NaN), c]), ['limit', m.limit > 0 ? bytes(m.limit) : 'none'], ...(m.resident ? [['process, resident', bytes(m.resident)]] : [])]);
  pairs(byId('queue'), [['active requests', `${num(h.active)} of ${num(h.slots)}`], ['queued', `${num(h.queued)} of ${num(h.queue_limit)}`],
    ['tokens since start', num(h.tokens)], ['rounds', num(h.rounds)], ['up for', duration(h.uptime_s ?? 0)]]);
}

function pairs(list, rows) {
  if (list.children.length !== 2 * rows.length) {
    list.replaceChildren(...rows.flatMap(([name, , c]) => [el('dt', {}, c ? el('i', { class: `swatch ${c}` }) : null, name), el('dd')]));
  }
  rows.forEach(([, value], i) => setText(list.children[2 * i + 1], value));
}

/** showPrefill shows how far a prompt is; done = total hides it. */
export function showPrefill(done, total) {
  byId('prefill').hidden = done >= total;
  setText(byId('prefill-text'), `Prefill ${num(done)} of ${num(total)}`);
  byId('prefill-bar').max = total;
  byId('prefill-bar').value = done;
}
