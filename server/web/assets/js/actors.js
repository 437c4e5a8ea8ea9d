// The supervision tree with states and restart counters.

import { call } from './api.js';
import { byId, el, setAttr, setText } from './dom.js';
import { num } from './format.js';

const rows = new Map(); // path -> {root, restarts ...}
const byName = new Intl.Collator('en', { numeric: true }); // indexer-3 before indexer-11

/** refreshActors asks for the tree and shows it. Rows that stay keep their nodes. */
export async function refreshActors() {
  const { actors } = await call('/v1/actors');
  const seen = new Set();
  let total = 0;
  for (const a of actors) {
    total += a.restarts;
    place(a.path, seen, a);
  }
  for (const [path, row] of rows) {
    if (seen.has(path)) continue;
    row.root.remove();
    rows.delete(path);
  }
  const sum = byId('restarts');
  setText(sum, restarts(total) || 'no restarts');
  sum.dataset.restarts = total;
}

/** place makes sure that the path and its parents have rows. */
function place(path, seen, actor = null) {
  seen.add(path);
  let row = rows.get(path);
  if (!row) {
    const cut = path.lastIndexOf('/');
    const parent = cut > 0 ? place(path.slice(0, cut), seen).children : byId('actors');
    row = {
      name: el('span', { class: 'name dot', text: path.slice(cut + 1), title: path }),
      kind: el('span', { class: 'kind' }),
      restarts: el('span', { class: 'restarts' }),
      children: el('ul'),
    };
    row.line = el('div', { class: 'actor', data: { actor: path } }, row.name, row.kind, row.restarts);
    row.line.addEventListener('animationend', () => row.line.classList.remove('fresh'));
    row.root = el('li', {}, row.line, row.children);
    const later = [...parent.children].find((c) => byName.compare(c.firstChild.dataset.actor, path) > 0);
    parent.insertBefore(row.root, later ?? null);
    rows.set(path, row);
  } else {
    for (let cut = path.lastIndexOf('/'); cut > 0; cut = path.lastIndexOf('/', cut - 1)) seen.add(path.slice(0, cut));
  }
  if (actor) fill(row, actor);
  return row;
}

const restarts = (n) => (n === 0 ? '' : `${num(n)} restart${n === 1 ? '' : 's'}`);

function fill(row, a) {
  setText(row.kind, a.kind === row.name.textContent ? a.state : `${a.kind} · ${a.state}`);
  setAttr(row.name, 'data-state', { running: 'ok', restarting: 'wait', stopped: 'bad' }[a.state] ?? 'unknown');
  setText(row.restarts, restarts(a.restarts));
  row.restarts.classList.toggle('some', a.restarts > 0);
  if (row.seen !== undefined && a.restarts > row.seen) row.line.classList.add('fresh');
  row.seen = a.restarts;
  row.line.dataset.restarts = a.restarts;
}
