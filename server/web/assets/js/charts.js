// Two small time charts by uPlot (vendor/), which is a classic script and lives on window.

import { byId } from './dom.js';

const SPAN = 120; // seconds shown

/** colour reads a custom property as the colour it comes to in the theme of the moment. */
function colour(name) {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const c = getComputedStyle(probe).color;
  probe.remove();
  return c;
}

/** Chart is one line over the last two minutes. Points are [seconds, value]; null makes a gap. */
export class Chart {
  #x = [];
  #y = [];
  #plot = null;

  constructor(id, stroke, floor) {
    this.box = byId(id);
    this.stroke = stroke;
    this.floor = floor; // the least upper end of the axis
    new ResizeObserver(() => this.#size()).observe(this.box);
  }

  add(at, value) {
    this.#x.push(at);
    this.#y.push(value);
    while (this.#x.length > 2 && this.#x[1] < at - SPAN) {
      this.#x.shift();
      this.#y.shift();
    }
    this.draw();
  }

  draw() {
    if (this.box.clientWidth === 0 || this.#x.length === 0) return; // its view is not shown
    if (!this.#plot) this.#make();
    const now = this.#x.at(-1);
    this.#plot.setData([this.#x, this.#y], false);
    this.#plot.batch(() => {
      this.#plot.setScale('x', { min: now - SPAN, max: now });
      this.#plot.setScale('y', { min: 0, max: Math.max(this.floor, ...this.#y.map((v) => (v ?? 0) * 1.1)) });
    });
  }

  /** recolour makes the chart anew in the colours of the theme. */
  recolour() {
    this.#plot?.destroy();
    this.#plot = null;
    this.draw();
  }

  #size() {
    if (this.#plot && this.box.clientWidth > 0) this.#plot.setSize({ width: this.box.clientWidth, height: this.box.clientHeight });
    else this.draw();
  }

  #make() {
    const line = colour('--line');
    const soft = colour('--soft');
    const stroke = colour(this.stroke);
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
    this.#plot = new window.uPlot({
      width: this.box.clientWidth, height: this.box.clientHeight, padding: [6, 14, 0, 0],
      legend: { show: false }, cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { x: { time: true, auto: false }, y: { auto: false } },
      axes: [
        { ...axis, size: 18, gap: 2, space: 60, values: (_, ticks) => ticks.map((t) => { const ago = Math.round(t - this.#x.at(-1)); return ago === 0 ? 'now' : `${ago} s`; }), splits: (u) => [-90, -60, -30, 0].map((s) => u.scales.x.max + s) },
        { ...axis, size: 38, gap: 4, space: 26 },
      ],
      series: [{}, { stroke, fill: stroke.replace(/^rgb\((.*)\)$/, 'rgb($1 / .15)').replaceAll(', ', ' '), width: 1.5, points: { show: false } }],
    }, [this.#x, this.#y], this.box);
  }
}
