// Calls to the server: the key, errors as the server words them, and numbers that JSON.parse would round.

const KEY = 'flashlane.key';
const listeners = new Set();
let locked = false;

/** ApiError is a refusal or failure in the server's words; status 0 means that the server did not answer. */
export class ApiError extends Error {
  constructor(message, { status = 0, code = '', param = '' } = {}) {
    super(message);
    this.name = 'ApiError';
    Object.assign(this, { status, code, param });
  }
}

/** key is the API key of this tab, '' when there is none. */
export const key = () => sessionStorage.getItem(KEY) ?? '';

/** setKey keeps a key for the life of the tab ('' forgets it) and lets calls through again. */
export function setKey(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
  locked = false;
}

/** isLocked is true after a 401 until a key is set: background calls should wait. */
export const isLocked = () => locked;

/** onLocked calls f(message) whenever the server asks for a key. */
export const onLocked = (f) => listeners.add(f);

/** parse is JSON.parse, but members called seed are kept as their decimal text: they have 64 bits. */
export function parse(text) {
  return JSON.parse(text, (name, value, context) => (name === 'seed' && typeof value === 'number' ? context?.source ?? String(value) : value));
}

/** errorOf turns a server's error body into an ApiError. */
export function errorOf(body, status) {
  const e = body?.error ?? {};
  return new ApiError(e.message || `The server answered with status ${status}.`, { status, code: e.code ?? '', param: e.param ?? '' });
}

/** open sends a request and returns the Response when its status is good, else throws an ApiError. body is JSON text. */
export async function open(path, { method = 'GET', body, signal } = {}) {
  const headers = {};
  if (key()) headers.Authorization = `Bearer ${key()}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let r;
  try {
    r = await fetch(path, { method, headers, body, signal, credentials: 'omit', redirect: 'error', cache: 'no-store' });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new ApiError('The server does not answer.');
  }
  if (r.ok) return r;
  const text = await r.text();
  let parsed = null;
  try {
    parsed = JSON.parse(text);
  } catch { /* not the server's own words */ }
  const error = errorOf(parsed, r.status);
  if (r.status === 401) {
    locked = true;
    for (const f of listeners) f(error.message);
  }
  throw error;
}

/** call is open for answers that are one JSON object. */
export async function call(path, options) {
  return parse(await (await open(path, options)).text());
}
