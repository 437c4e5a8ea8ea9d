// Lane switches. What is shown is what the server says, not what was clicked.

import { call } from './api.js';
import { byId, el, setAttr, setText } from './dom.js';
import { num } from './format.js';

const rows = new Map(); // name -> the nodes of a lane
const settled = (lane) => lane.status === 'declined' || lane.status === (lane.enabled ? 'installed' : 'off');

/** refreshLanes asks for the lanes and shows them. */
export async function refreshLanes() {
  const { lanes } = await call('/v1/lanes');
  for (const lane of lanes) show(lane);
  for (const [name, row] of rows) {
    if (lanes.some((l) => l.name === name)) continue;
    row.root.remove();
    rows.delete(name);
  }
}

/** showLane shows a lane as an event brought it. */
export function showLane(lane) {
  if (lane && rows.has(lane.name)) show(lane);
}

/** countLanes shows newer counters, from /metrics: get(name, lane) returns a figure or NaN. */
export function countLanes(get) {
  for (const [name, row] of rows) {
    counts(row, Object.fromEntries([['windows', 'windows'], ['hits', 'hits'], ['misses', 'misses'], ['waits', 'waits'], ['fail_over', 'fail_overs'], ['switches', 'switches']]
      .map(([field, metric]) => [field, get(`flashlane_lane_${metric}_total`, name)])));
  }
}

function show(lane) {
  let row = rows.get(lane.name);
  if (!row) {
    const id = `lane-${lane.name}`;
    row = {
      name: el('span', { class: 'name', id, text: lane.name }),
      button: el('button', { type: 'button', class: 'switch', role: 'switch', 'aria-labelledby': id, on: { click: () => flip(lane.name) } }),
      status: el('span', { class: 'status dot' }),
      why: el('p', { class: 'why error', role: 'status' }),
      counts: el('p', { class: 'counts' }),
    };
    row.root = el('li', { class: 'lane', data: { lane: lane.name } }, row.name, row.button, row.status, row.why, row.counts);
    rows.set(lane.name, row);
    byId('lanes').append(row.root);
  }
  row.lane = lane;
  row.root.dataset.status = lane.status;
  setAttr(row.button, 'aria-checked', String(lane.enabled));
  setAttr(row.button, 'aria-busy', String(!settled(lane)));
  row.button.disabled = lane.status === 'declined';
  setText(row.status, `${lane.status}${lane.reason ? `: ${lane.reason}` : ''}`);
  setAttr(row.status, 'data-state', lane.status === 'installed' ? 'ok' : lane.status === 'declined' ? 'bad' : 'unknown');
  counts(row, lane);
}

function counts(row, c) {
  if (!Number.isFinite(c.windows)) return;
  const items = [['windows', c.windows], ['hits', c.hits], ['misses', c.misses], ['waits', c.waits], ['fail-overs', c.fail_over], ['switches', c.switches]];
  if (row.counts.children.length !== items.length) row.counts.replaceChildren(...items.map(([label]) => el('span', {}, el('b'), ` ${label}`)));
  items.forEach(([, n], i) => setText(row.counts.children[i].firstChild, num(n)));
}

async function flip(name) {
  const row = rows.get(name);
  if (row.busy) return;
  row.busy = true;
  setAttr(row.button, 'aria-busy', 'true');
  setText(row.why, '');
  try {
    let lane = await call(`/v1/lanes/${encodeURIComponent(name)}`, { method: 'PUT', body: JSON.stringify({ enabled: !row.lane.enabled }) });
    show(lane);
    for (let tries = 0; !settled(lane) && tries < 40; tries++) { // it is in force when the running rounds have ended
      await new Promise((f) => setTimeout(f, 250));
      lane = (await call('/v1/lanes')).lanes.find((l) => l.name === name);
      show(lane);
    }
  } catch (e) {
    setText(row.why, e.message);
    setAttr(row.button, 'aria-busy', 'false');
  } finally {
    row.busy = false;
  }
}
