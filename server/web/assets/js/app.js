// The page's start: wires the parts together.

import { call } from './api.js';
import { countRound, startChat } from './chat.js';
import { byId, setAttr, setText } from './dom.js';
import { startKey } from './key.js';
import { showPrefill, startLive } from './live.js';
import { showDefaults, startSettings } from './settings.js';
import { startTheme } from './theme.js';

/** identify shows which model is served and what its requests get by default. */
async function identify() {
  const { data } = await call('/v1/models');
  const card = data[0];
  setText(byId('model'), card.id);
  document.title = `${card.id} · flashlane`;
  showDefaults({ ...card.sampling, depth: card.depth, max_depth: card.max_depth, acceptance: card.acceptance, max_tokens: card.max_output_tokens });
}

let known = false;

function onHealth(h) {
  const bad = h.status !== 'ok';
  setText(byId('state'), bad ? `${h.status}${h.reason ? `: ${h.reason}` : ''}` : 'ready');
  setAttr(byId('state'), 'data-state', bad ? 'bad' : 'ok');
  const device = [h.device_kind, h.precision && `precision ${h.precision}`, h.exact ? 'exact' : h.acceptance, h.depth_note, h.version && `version ${h.version}`].filter(Boolean).join(' · ');
  setText(byId('device'), device);
  byId('device').title = device;
  if (!known) {
    known = true;
    identify().catch(() => { known = false; });
  }
}

function onLost(e) {
  setText(byId('state'), e.status === 401 ? 'API key needed' : 'no answer');
  setAttr(byId('state'), 'data-state', e.status === 401 ? 'wait' : 'bad');
}

function views() {
  const root = document.documentElement;
  const buttons = [...document.querySelectorAll('[data-goto]')];
  const show = () => {
    for (const b of buttons) setAttr(b, 'aria-pressed', String(b.dataset.goto === root.dataset.view || (b.dataset.goto === 'live' && root.dataset.view === 'chat' && innerWidth > 819)));
  };
  for (const b of buttons) b.addEventListener('click', () => { root.dataset.view = b.dataset.goto; });
  new MutationObserver(show).observe(root, { attributeFilter: ['data-view'] });
  addEventListener('resize', show, { passive: true });
  show();
}

startSettings();
views();
const live = startLive({ health: onHealth, lost: onLost, round: countRound });
startTheme(() => live.recolour());
startKey(() => { known = false; live.resume(); });
startChat({ prefill: showPrefill });
