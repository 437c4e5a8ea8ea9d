// The theme button: system, light, dark.

import { byId, setText } from './dom.js';

const KEY = 'flashlane.theme';
const ORDER = ['system', 'light', 'dark'];

/** startTheme wires the button and calls changed() whenever colours are others. */
export function startTheme(changed) {
  const root = document.documentElement;
  const button = byId('theme');
  let now = root.dataset.theme ?? 'system';
  const show = () => {
    if (now === 'system') delete root.dataset.theme;
    else root.dataset.theme = now;
    setText(byId('theme-name'), now);
  };
  button.addEventListener('click', () => {
    now = ORDER[(ORDER.indexOf(now) + 1) % ORDER.length];
    show();
    try {
      localStorage.setItem(KEY, now);
    } catch { /* it holds for this visit */ }
    changed();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  show();
}
