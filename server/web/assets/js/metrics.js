// The Prometheus exposition, as much of it as the page needs: flashlane_ figures with no label or one.

const LINE = /^(flashlane_[a-z0-9_]+)(?:\{([a-z_]+)="((?:[^"\\]|\\.)*)"\})? (\S+)/;

/** parseMetrics returns a Map of figures by name, or by "name label" where there is a label. */
export function parseMetrics(text) {
  const out = new Map();
  for (const line of text.split('\n')) {
    const m = LINE.exec(line);
    if (m) out.set(m[3] === undefined ? m[1] : `${m[1]} ${m[3]}`, Number(m[4]));
  }
  return out;
}

/** Recorder keeps the samples of a time window and answers what happened within it. */
export class Recorder {
  #samples = []; // {at: seconds, figures}

  constructor(seconds) {
    this.seconds = seconds;
  }

  /** add takes a sample. When counters went back the server was started anew and the past is dropped. */
  add(at, figures) {
    const last = this.#samples.at(-1);
    if (last && figures.get('flashlane_tokens_total') < last.figures.get('flashlane_tokens_total')) this.#samples = [];
    this.#samples.push({ at, figures });
    while (this.#samples.length > 2 && this.#samples[1].at <= at - this.seconds) this.#samples.shift();
  }

  /** latest is a figure as it is now, NaN when unknown. */
  latest(name) {
    return this.#samples.at(-1)?.figures.get(name) ?? NaN;
  }

  /** delta is what a counter grew by within the last seconds (or what there is of them) and over how long: {by, over}. */
  delta(name, seconds) {
    const last = this.#samples.at(-1);
    if (!last || this.#samples.length < 2) return { by: NaN, over: 0 };
    const first = this.#samples.find((s) => s.at >= last.at - seconds - 0.25 && s !== last) ?? this.#samples.at(-2);
    return { by: (last.figures.get(name) ?? NaN) - (first.figures.get(name) ?? NaN), over: last.at - first.at };
  }
}
