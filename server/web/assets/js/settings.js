// The settings form: what a request asks for beyond its messages. An empty field is not sent, so the server's default holds.

import { byId, setAttr, setText } from './dom.js';
import { num } from './format.js';

const KEY = 'flashlane.settings';
const NUMBERS = ['temperature', 'top_p', 'top_k', 'min_p', 'max_tokens', 'depth'];
const SEED = /^-?\d{1,20}$/;
const SEEDS = [-(2n ** 63n), 2n ** 64n - 1n];

/** startSettings restores what this tab had and keeps it up to date. */
export function startSettings() {
  const form = byId('settings');
  for (let d = 0; d <= 7; d++) byId('depth').append(new Option(d === 0 ? '0 (no drafts)' : String(d), String(d)));
  try {
    const saved = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
    for (const f of form.elements) {
      if (!(f.name in saved)) continue;
      if (f.type === 'checkbox') f.checked = saved[f.name];
      else f.value = saved[f.name];
    }
  } catch { /* a form left by another version: start anew */ }
  const save = () => {
    const now = {};
    for (const f of form.elements) if (f.name) now[f.name] = f.type === 'checkbox' ? f.checked : f.value;
    sessionStorage.setItem(KEY, JSON.stringify(now));
    check();
  };
  form.addEventListener('input', save);
  form.addEventListener('reset', () => setTimeout(save)); // fields have their new values after the event
  form.addEventListener('submit', (e) => e.preventDefault());
}

/** check marks what cannot be sent and returns the first such field, or null. */
function check() {
  const form = byId('settings');
  let bad = null;
  let message = '';
  const mark = (field, text) => {
    setAttr(field, 'aria-invalid', text ? 'true' : null);
    if (text && !bad) [bad, message] = [field, text];
  };
  for (const name of NUMBERS.filter((n) => n !== 'depth')) {
    const f = form.elements[name];
    mark(f, f.validity.valid ? '' : `${f.labels[0].textContent.trim()}: ${f.validationMessage}`);
  }
  const seed = form.elements.seed.value.trim();
  const fits = seed === '' || (SEED.test(seed) && BigInt(seed) >= SEEDS[0] && BigInt(seed) <= SEEDS[1]);
  mark(form.elements.seed, fits ? '' : 'Seed: a 64-bit integer is needed.');
  mark(form.elements.tools, toolsOf(form).error);
  setText(byId('settings-error'), message);
  return bad;
}

function toolsOf(form) {
  const text = form.elements.tools.value.trim();
  if (text === '') return { error: '' };
  try {
    const list = JSON.parse(text);
    return Array.isArray(list) ? { list, error: '' } : { error: 'Tools: a JSON array is needed.' };
  } catch (e) {
    return { error: `Tools: ${e.message}` };
  }
}

/**
 * request is what the form asks for: {fields, seed, system}, fields as they go into the body, seed as decimal text (a body
 * made by JSON.stringify would round it), '' when none. null when a field is wrong; then that field has the focus.
 */
export function request() {
  const form = byId('settings');
  const bad = check();
  if (bad) {
    document.documentElement.dataset.view = 'settings';
    bad.closest('details')?.setAttribute('open', '');
    bad.focus();
    return null;
  }
  const fields = {};
  for (const name of NUMBERS) {
    const value = form.elements[name].value.trim();
    if (value !== '') fields[name] = Number(value);
  }
  if (form.elements.acceptance.value) fields.acceptance = form.elements.acceptance.value;
  fields.enable_thinking = form.elements.thinking.checked;
  const { list } = toolsOf(form);
  if (list?.length) fields.tools = list;
  return { fields, seed: form.elements.seed.value.trim(), system: form.elements.system.value };
}

/** pinSeed puts a seed into the form. */
export function pinSeed(seed) {
  byId('seed').value = seed;
  byId('settings').dispatchEvent(new Event('input'));
}

/** showDefaults writes the server's defaults into the empty fields. Members that it does not know are left alone. */
export function showDefaults(d) {
  for (const name of ['temperature', 'top_p', 'top_k', 'min_p', 'max_tokens']) {
    if (typeof d[name] === 'number') setAttr(byId(name), 'placeholder', name === 'max_tokens' ? `up to ${num(d[name])}` : String(d[name]));
  }
  if (typeof d.depth === 'number') setText(byId('depth').options[0], `server’s (${d.depth})`);
  if (typeof d.acceptance === 'string') setText(byId('acceptance').options[0], `server’s (${d.acceptance})`);
  if (typeof d.max_depth === 'number') for (const o of byId('depth').options) o.disabled = o.value !== '' && Number(o.value) > d.max_depth;
}
