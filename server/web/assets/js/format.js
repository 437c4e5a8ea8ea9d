// Figures as people read them.

/** num shortens a number: three significant digits below a thousand, thousands grouped above. */
export function num(x) {
  if (!Number.isFinite(x)) return '–';
  const size = Math.abs(x);
  if (size >= 1000 || Number.isInteger(x)) return Math.round(x).toLocaleString('en');
  return size >= 100 ? x.toFixed(0) : size >= 10 ? x.toFixed(1) : x.toFixed(2);
}

/** percent writes a share from 0 to 1. */
export const percent = (x) => (Number.isFinite(x) ? `${(100 * x).toFixed(x > 0 && x < 0.1 ? 1 : 0)}%` : '–');

/** millis writes a time given in milliseconds. */
export function millis(ms) {
  if (!Number.isFinite(ms)) return '–';
  return ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

/** bytes writes a size in binary units. */
export function bytes(n) {
  if (!Number.isFinite(n)) return '–';
  let unit = 0;
  for (; n >= 1024 && unit < 4; unit++) n /= 1024;
  return `${unit === 0 || n >= 100 ? n.toFixed(0) : n.toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

/** duration writes seconds as the two largest units. */
export function duration(s) {
  s = Math.floor(s);
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const from = Math.max(0, parts.findIndex(([size]) => s >= size));
  return s < 1 ? '0 s' : parts.slice(from, from + 2).map(([size, name], i) => [Math.floor((i ? s % parts[from][0] : s) / size), name])
    .filter(([n], i) => n > 0 || i === 0).map(([n, name]) => `${n} ${name}`).join(' ');
}

/** clock writes the local time of day of an ISO date. */
export function clock(iso) {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? '' : at.toLocaleTimeString('en-GB');
}
