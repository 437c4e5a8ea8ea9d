// Blocks of markdown as DOM nodes: code fences, headings, lists, quotes, tables, rules, paragraphs. It is made for text that
// grows at its end: renderInto keeps the nodes of all blocks that did not change.

import { copy, el, setText } from './dom.js';
import { inline } from './inline.js';

const MAX_DEPTH = 5; // of lists and quotes in one another
const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])\s*(\1\s*){2,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(?=\S)/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/** blocks cuts a text into [{kind, lines, ...}]; lines are the block's own source. */
export function blocks(text) {
  const lines = text.split('\n');
  const out = [];
  for (let i = 0; i < lines.length;) {
    if (lines[i].trim() === '') {
      i++;
      continue;
    }
    const b = block(lines, i);
    out.push({ ...b, source: lines.slice(i, b.next).join('\n') });
    i = b.next;
  }
  return out;
}

function block(lines, i) {
  const line = lines[i];
  let m = FENCE.exec(line);
  if (m) {
    let end = i + 1;
    const closer = new RegExp(`^ {0,3}${m[2][0]}{${m[2].length},}\\s*$`);
    while (end < lines.length && !closer.test(lines[end])) end++;
    const strip = new RegExp(`^ {0,${m[1].length}}`);
    return { kind: 'code', lang: m[3].trim().split(/\s/)[0], body: lines.slice(i + 1, end).map((l) => l.replace(strip, '')).join('\n'), next: Math.min(end + 1, lines.length) };
  }
  m = HEADING.exec(line);
  if (m) return { kind: 'heading', level: m[1].length, body: m[2], next: i + 1 };
  if (RULE.test(line)) return { kind: 'rule', next: i + 1 };
  if (QUOTE.test(line)) {
    let end = i;
    while (end < lines.length && QUOTE.test(lines[end])) end++;
    return { kind: 'quote', body: lines.slice(i, end).map((l) => l.replace(QUOTE, '')).join('\n'), next: end };
  }
  if (ITEM.test(line)) return list(lines, i);
  if (line.includes('|') && i + 1 < lines.length && lines[i + 1].includes('-') && DIVIDER.test(lines[i + 1])) {
    let end = i + 2;
    while (end < lines.length && lines[end].includes('|')) end++;
    return { kind: 'table', rows: [lines[i], ...lines.slice(i + 2, end)].map(cells), next: end };
  }
  let end = i + 1;
  while (end < lines.length && lines[end].trim() !== '' && !FENCE.test(lines[end]) && !HEADING.test(lines[end]) && !QUOTE.test(lines[end]) && !ITEM.test(lines[end])) end++;
  return { kind: 'text', body: lines.slice(i, end).map((l) => l.trim()).join('\n'), next: end };
}

function list(lines, i) {
  const [, indent, marker] = ITEM.exec(lines[i]);
  const ordered = /\d/.test(marker);
  const items = [];
  let end = i;
  while (end < lines.length) {
    const m = ITEM.exec(lines[end]);
    if (!m || m[1].length > indent.length + 1 || /\d/.test(m[2]) !== ordered || (RULE.test(lines[end]) && items.length > 0)) break;
    const width = m[0].length;
    const item = [lines[end++].slice(width)];
    while (end < lines.length) {
      const deep = /^\s*/.exec(lines[end])[0].length;
      const empty = lines[end].trim() === '';
      if (empty && !(end + 1 < lines.length && /^\s+\S/.test(lines[end + 1]) && /^\s*/.exec(lines[end + 1])[0].length > indent.length + 1)) break;
      if (!empty && deep <= indent.length + 1 && (ITEM.test(lines[end]) || FENCE.test(lines[end]) || HEADING.test(lines[end]) || lines[end - 1].trim() === '')) break;
      item.push(lines[end].slice(Math.min(deep, width)));
      end++;
    }
    items.push(item.join('\n'));
    if (lines[end]?.trim() === '' && ITEM.test(lines[end + 1] ?? '') && /\d/.test(ITEM.exec(lines[end + 1])[2]) === ordered) end++; // a loose list
  }
  return { kind: 'list', ordered, start: ordered ? Number.parseInt(marker, 10) : 1, items, next: Math.max(end, i + 1) };
}

function cells(row) {
  return row.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((c) => c.trim().replaceAll('\\|', '|'));
}

function render(b, depth) {
  const inner = (text) => {
    const box = el('div', { class: 'md' });
    if (depth >= MAX_DEPTH) box.textContent = text;
    else box.append(...blocks(text).map((x) => render(x, depth + 1)));
    return box;
  };
  switch (b.kind) {
    case 'code': return codeBlock(b);
    case 'heading': return el(`h${b.level}`, {}, ...inline(b.body));
    case 'rule': return el('hr');
    case 'quote': return el('blockquote', {}, inner(b.body));
    case 'list':
      return el(b.ordered ? 'ol' : 'ul', b.ordered && b.start !== 1 ? { start: b.start } : {}, ...b.items.map((item) => el('li', {}, inner(item))));
    case 'table': {
      const width = Math.min(b.rows[0].length, 64);
      const row = (tag) => (r) => el('tr', {}, ...Array.from({ length: width }, (_, c) => el(tag, {}, ...inline(r[c] ?? ''))));
      return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table' },
        el('table', {}, el('thead', {}, row('th')(b.rows[0])), el('tbody', {}, ...b.rows.slice(1).map(row('td')))));
    }
    default: return el('p', {}, ...inline(b.body));
  }
}

function codeBlock(b) {
  const text = el('code', { text: b.body });
  const button = el('button', { type: 'button', class: 'small', text: 'Copy', on: { click: () => copy(text.textContent, button) } });
  return el('div', { class: 'code' }, el('div', { class: 'head' }, el('span', { text: b.lang || 'text' }), button),
    el('pre', { tabindex: '0' }, text));
}

const drawn = new WeakMap(); // container -> its blocks as drawn

/** renderInto makes the container show the text, and touches only blocks that changed. */
export function renderInto(container, text) {
  const before = drawn.get(container) ?? [];
  const after = blocks(text);
  let same = 0;
  while (same < before.length && same < after.length && before[same].source === after[same].source) same++;
  const [was, is] = [before[same], after[same]];
  if (was?.kind === 'code' && is?.kind === 'code' && was.lang === is.lang) { // a growing fence keeps its node and selection
    setText(container.children[same].querySelector('code'), is.body);
    same++;
  }
  while (container.children.length > same) container.lastElementChild.remove();
  container.append(...after.slice(same).map((b) => render(b, 0)));
  drawn.set(container, after);
}
