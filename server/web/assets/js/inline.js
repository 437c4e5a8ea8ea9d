// Text within a line of markdown, as DOM nodes. Only elements made here and text nodes come out; a link goes to http,
// https or mailto or is left as text; images become links.

import { el } from './dom.js';

const MAX_DEPTH = 6; // of emphasis in emphasis
const ESCAPABLE = '\\`*_{}[]()#+-.!|~>';
const WORD = /[\p{L}\p{N}]/u;

/** safeURL returns an absolute address that may be followed, or '' . */
export function safeURL(text) {
  let url;
  try {
    url = new URL(text.trim());
  } catch {
    return '';
  }
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : '';
}

const link = (href, ...children) => el('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...children);

/** inline returns the nodes of a text. */
export function inline(text, depth = 0) {
  const out = [];
  const missing = new Set(); // closers that do not occur any more: each is looked for once, so that time stays linear
  let plain = '';
  const put = (node) => {
    if (plain) out.push(document.createTextNode(plain));
    plain = '';
    out.push(node);
  };
  const find = (closer, from) => {
    if (missing.has(closer)) return -1;
    const at = text.indexOf(closer, from);
    if (at < 0) missing.add(closer);
    return at;
  };
  let i = 0;
  while (i < text.length) {
    const step = depth < MAX_DEPTH ? special(text, i, depth, find) : null;
    if (step) {
      if (step.node) put(step.node);
      else plain += step.text;
      i = step.next;
    } else {
      plain += text[i++];
    }
  }
  if (plain) out.push(document.createTextNode(plain));
  return out;
}

/** special reads what begins at i: {node or text, next}, or null when it is a plain character. */
function special(text, i, depth, find) {
  switch (text[i]) {
    case '\\':
      return ESCAPABLE.includes(text[i + 1] ?? ' ') ? { text: text[i + 1], next: i + 2 } : null;
    case '`':
      return code(text, i, find);
    case '*': case '_': case '~':
      return emphasis(text, i, depth, find);
    case '!':
      return text[i + 1] === '[' ? bracket(text, i + 1, depth, find) : null;
    case '[':
      return bracket(text, i, depth, find);
    case 'h':
      return bare(text, i);
    default:
      return null;
  }
}

function code(text, i, find) {
  let n = 1;
  while (text[i + n] === '`') n++;
  const fence = '`'.repeat(n);
  let end = find(fence, i + n);
  while (end >= 0 && text[end + n] === '`') { // a longer run does not close
    let past = end + n;
    while (text[past] === '`') past++;
    end = text.indexOf(fence, past);
  }
  if (end < 0) return { text: fence, next: i + n };
  let inner = text.slice(i + n, end);
  if (inner.length > 2 && inner.startsWith(' ') && inner.endsWith(' ')) inner = inner.slice(1, -1);
  return { node: el('code', { text: inner }), next: end + n };
}

function emphasis(text, i, depth, find) {
  const c = text[i];
  const n = text[i + 1] === c ? 2 : 1;
  if (c === '~' && n === 1) return null;
  const mark = c.repeat(n);
  const first = text[i + n] ?? ' ';
  if (/\s/.test(first) || first === c || (c === '_' && WORD.test(text[i - 1] ?? ' '))) return { text: mark, next: i + n };
  for (let end = find(mark, i + n + 1), tries = 0; end >= 0 && tries < 8; end = text.indexOf(mark, end + n), tries++) {
    if (/\s/.test(text[end - 1]) || (n === 1 && (text[end + 1] === c || text[end - 1] === c))) continue;
    if (c === '_' && WORD.test(text[end + n] ?? ' ')) continue;
    const tag = c === '~' ? 'del' : n === 2 ? 'strong' : 'em';
    return { node: el(tag, {}, ...inline(text.slice(i + n, end), depth + 1)), next: end + n };
  }
  return { text: mark, next: i + n };
}

function bracket(text, i, depth, find) {
  const close = find('](', i + 1);
  if (close < 0 || close - i > 1000) return null;
  const end = find(')', close + 2);
  if (end < 0) return null;
  const href = safeURL(text.slice(close + 2, end).split(/\s+["']/)[0].replace(/^<|>$/g, ''));
  if (!href) return null;
  const label = text.slice(i + 1, close);
  return { node: link(href, ...(label ? inline(label, MAX_DEPTH - 1) : [document.createTextNode(href)])), next: end + 1 };
}

function bare(text, i) {
  if (WORD.test(text[i - 1] ?? ' ') || !/^https?:\/\//.test(text.slice(i, i + 8))) return null;
  let url = /^[^\s<>"'`]+/.exec(text.slice(i, i + 2000))[0].replace(/[.,;:!?*_)\]]+$/, '');
  const href = safeURL(url);
  return href ? { node: link(href, document.createTextNode(url)), next: i + url.length } : null;
}
