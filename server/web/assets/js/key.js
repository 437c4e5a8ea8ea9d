// The dialog for the API key. It opens by itself when the server asks for one.

import { key, onLocked, setKey } from './api.js';
import { byId, setText } from './dom.js';

/** startKey wires the dialog; used() is called when a key was set or forgotten. */
export function startKey(used) {
  const dialog = byId('key-dialog');
  const button = byId('key-button');
  const show = (why) => {
    button.hidden = false;
    setText(byId('key-why'), why);
    if (!dialog.open) dialog.showModal();
    byId('key').value = '';
    byId('key').focus();
  };
  button.hidden = key() === '';
  button.addEventListener('click', () => show(key() ? 'A key is set for this tab.' : 'This server asks for an API key.'));
  onLocked((message) => {
    if (!dialog.open) show(message);
  });
  byId('key-form').addEventListener('submit', (e) => {
    e.preventDefault();
    setKey(byId('key').value.trim());
    dialog.close();
    used();
  });
  byId('key-forget').addEventListener('click', () => { setKey(''); dialog.close(); used(); });
  byId('key-cancel').addEventListener('click', () => dialog.close());
}
