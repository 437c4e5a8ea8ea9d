// The house's event stream and the log made of it.

import { isLocked, open } from './api.js';
import { byId, el, setAttr, setText } from './dom.js';
import { clock, num } from './format.js';
import { readEvents } from './sse.js';

const KEEP = 300; // entries of the log

/** startEvents reads /v1/events for as long as the page is visible and calls on.event(type, data) for each, on.open() at every (re)start. */
export function startEvents(on) {
  let current = null;
  let timer = 0;
  let pause = 500;
  const state = (name, text) => {
    setAttr(byId('events-state'), 'data-state', name);
    setText(byId('events-state'), text);
  };
  const start = async () => {
    clearTimeout(timer);
    if (current || document.hidden || isLocked()) return;
    const mine = new AbortController();
    current = mine;
    try {
      const response = await open('/v1/events', { signal: mine.signal });
      pause = 500;
      state('ok', 'live');
      on.open();
      await readEvents(response.body, { onEvent: ({ data }) => take(JSON.parse(data), on) });
    } catch { /* the reason is the connection's; it is tried again */ }
    if (current === mine) current = null;
    if (mine.signal.aborted) return;
    state('wait', 'reconnecting');
    timer = setTimeout(start, pause);
    pause = Math.min(pause * 2, 15000);
  };
  const stop = () => {
    current?.abort();
    current = null;
    state('unknown', 'paused');
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? stop() : start())); // a hidden tab gives its connection back
  byId('log-filter').addEventListener('change', filter);
  start();
  return start;
}

function take(event, on) {
  let { data } = event;
  if (data && typeof data === 'object' && 'dropped' in data && 'event' in data) { // this reader was too slow
    write({ type: 'lost', time: event.time }, `${num(data.dropped)} events were lost`, '');
    data = data.event;
  }
  const e = { type: event.type, time: event.time };
  if (event.type === 'supervision') write(e, `${data.actor} failed, ${data.directive}`, `${data.reason} (on ${data.message}${data.request ? `, request ${short(data.request)}` : ''}; restart ${num(data.restarts)}, back-off ${num(data.backoff_ms)} ms)`);
  else if (event.type === 'lane') write(e, `lane ${data.name} ${data.enabled ? 'switched on' : 'switched off'}`, '');
  else if (event.type === 'request') write(e, `request ${short(data.id)}: ${data.outcome}`, `${num(data.tokens)} tokens in ${num(data.rounds)} rounds${data.restarts ? `, rebuilt ${num(data.restarts)} times` : ''}`);
  else if (event.type !== 'round') write(e, event.type, JSON.stringify(data));
  on.event(event.type, data);
}

const short = (id) => (id.length > 20 ? `${id.slice(0, 17)}…` : id);

function write({ type, time }, text, detail) {
  const log = byId('log');
  log.prepend(el('li', { data: { type }, hidden: !shown(type) }, el('time', { text: clock(time), datetime: time }), text, detail ? el('span', { class: 'detail', text: detail }) : null));
  while (log.children.length > KEEP) log.lastElementChild.remove();
  byId('log-none').hidden = true;
}

function shown(type) {
  const only = byId('log-filter').value;
  return only === '' || only === type;
}

function filter() {
  for (const li of byId('log').children) li.hidden = !shown(li.dataset.type);
}
