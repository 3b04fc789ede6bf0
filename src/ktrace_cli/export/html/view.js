// Where time and rows are on the screen, the ruler, and the names at the left.

const RULER = 38;
const CAPTION = 13; // the height of a workgroup's name beside compact rows
const OVERVIEW = 9; // the bar in the ruler that shows which part of the time is in view

class View {
  constructor(stage, picture, overlay) {
    Object.assign(this, { stage, picture, overlay, ruler: RULER, scroll: 0, t0: 0, t1: 1000, note: "" });
    this.font = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
    this.widths = new Map();
    this.resize();
  }

  resize() {
    this.ratio = window.devicePixelRatio || 1;
    this.width = Math.max(100, this.stage.clientWidth - 14);
    this.height = Math.max(60, this.stage.clientHeight);
    this.gutter = this.width < 700 ? 112 : this.width < 1100 ? 180 : 240;
    this.plotWidth = this.width - this.gutter;
    this.plotHeight = this.height - this.ruler;
    for (const canvas of [this.picture, this.overlay]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${this.height}px`;
    }
  }

  get perPixel() {
    return (this.t1 - this.t0) / this.plotWidth;
  }

  x(time) {
    return this.gutter + ((time - this.t0) / (this.t1 - this.t0)) * this.plotWidth;
  }

  time(x) {
    return this.t0 + ((x - this.gutter) / this.plotWidth) * (this.t1 - this.t0);
  }

  /** A canvas for strips, kept from frame to frame. */
  sheet(width, height) {
    if (!this.strips) {
      const canvas = document.createElement("canvas");
      this.strips = { canvas, context: canvas.getContext("2d", { willReadFrequently: false }) };
    }
    const { canvas } = this.strips;
    if (canvas.width < width || canvas.height < height) {
      canvas.width = Math.max(canvas.width, width);
      canvas.height = Math.max(canvas.height, height + 16);
    }
    return this.strips;
  }

  textWidth(text) {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 20000) this.widths.clear();
      const context = this.picture.getContext("2d", { alpha: false });
      context.font = this.font;
      width = context.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }
}

/** Names of a row at the left of the picture. */
function paintNames(app, { context }, row) {
  const { view, colours } = app;
  const y = screenY(view, row.y);
  if (row.height <= COMPACT) return paintPlain(app, context, 0, y, view.gutter, row.height);
  const isHead = !row.shape;
  if (!isHead) paintPlain(app, context, 0, y, view.gutter, row.height);
  const chosen = app.chosen;
  const isChosen = chosen.kind === row.kind && chosen.row === (row.kind === "wave" ? row.waves[0] : row.index);
  if (isChosen) {
    context.fillStyle = colours.range;
    context.fillRect(0, y, view.gutter, row.height);
  }
  const indent = { dispatch: 8, group: 14, role: 8, place: 8 }[row.kind] ?? 22;
  const middle = y + (isHead ? HEAD / 2 + 1 : (row.shape.title || row.shape.marks || 0) / 2 + 9);
  if (isHead) {
    // Over the bar of the head: its name may be longer than the gutter.
    paintOver(app, context, row, indent, y, middle);
    return;
  }
  context.fillStyle = colours.ink;
  paintText(app, context, row.label, indent, middle, view.gutter - indent - 6);
  context.fillStyle = colours.muted;
  for (const line of row.shape.lines) {
    if (!line.label) continue;
    const width = Math.min(view.textWidth(line.label), view.gutter - indent - 10);
    paintText(app, context, line.label, view.gutter - width - 6, y + line.y + line.height / 2, width + 1);
  }
  context.fillStyle = colours.line;
  context.fillRect(view.gutter - 1, y, 1, row.height);
}

function paintPlain({ colours, view }, context, x, y, width, height) {
  context.fillStyle = colours.back;
  context.fillRect(x, y, width - 1, height);
  context.fillStyle = colours.line;
  context.fillRect(view.gutter - 1, y, 1, height);
}

function paintOver(app, context, row, indent, y, middle) {
  const { view, colours } = app;
  const text = row.label;
  const note = row.note || "";
  const long = row.kind === "dispatch" ? view.width * 0.5 : view.gutter - indent - 6;
  const width = Math.min(view.textWidth(text), long);
  context.fillStyle = row.kind === "dispatch" ? colours.head : colours.stripe;
  context.fillRect(0, y + 1, Math.max(view.gutter, indent + width + 8), HEAD - 1);
  context.fillStyle = colours.ink;
  context.font = row.kind === "dispatch" || row.kind === "role" ? `600 ${view.font}` : view.font;
  paintText(app, context, text, indent, middle, long);
  context.font = view.font;
  const left = view.textWidth(text) + indent + 10;
  context.fillStyle = colours.muted;
  if (note) paintText(app, context, note, left, middle, view.gutter - left - 4);
}

/**
 * Compact rows are too thin for names: their workgroups have one, where there is room. It stays below
 * the sticky head for as long as its rows have room for it; then they take it along.
 */
function paintCaptions({ view, colours, list }, { context, shown }) {
  let [bottom, last] = [-Infinity, null];
  for (const { caption } of shown) {
    if (!caption || caption === last) continue;
    last = caption;
    const top = screenY(view, list.rows[caption.first].y);
    const height = caption.waves * COMPACT;
    const y = Math.max(top, Math.min(view.ruler + HEAD, top + height - CAPTION));
    if (y < bottom) continue;
    bottom = y + CAPTION;
    context.fillStyle = colours.muted;
    const width = Math.min(view.textWidth(caption.text), view.gutter - 20);
    context.fillText(caption.text, 14, y + Math.min(9, height / 2), width + 1);
  }
}

/** The head that the first visible row belongs to stays in view. */
function paintSticky(app, frame) {
  const { view, list } = app;
  const first = frame.shown[0];
  if (!first || !first.shape) return;
  let head = first.index;
  while (head >= 0 && list.rows[head].shape) head--;
  if (head < 0) return;
  const next = frame.shown.find((row) => !row.shape);
  const y = Math.min(0, next ? next.y - view.scroll - HEAD : 0);
  const row = { ...list.rows[head], y: view.scroll + y };
  paintHead(app, frame.context, row, screenY(view, row.y));
  paintNames(app, frame, row);
}

function paintRuler(app, { context }) {
  const { view, colours } = app;
  context.fillStyle = colours.panel;
  context.fillRect(0, 0, view.width, view.ruler);
  context.fillStyle = colours.line;
  context.fillRect(0, view.ruler - 1, view.width, 1);
  paintOverview(app, context);
  const step = niceStep(view.perPixel * 110);
  const largest = Math.max(Math.abs(view.t0), Math.abs(view.t1));
  const minor = step / 5;
  for (let i = Math.ceil(view.t0 / minor), labelled = view.gutter; i * minor <= view.t1; i++) {
    const x = Math.round(view.x(i * minor));
    if (x < view.gutter) continue;
    const isMajor = i % 5 === 0;
    context.fillStyle = isMajor ? colours.muted : colours.line;
    context.fillRect(x, view.ruler - (isMajor ? 9 : 5), 1, isMajor ? 8 : 4);
    if (!isMajor) continue;
    const text = axisTime(i * minor || 0, step, largest);
    const left = Math.min(x + 4, view.width - view.textWidth(text) - 2); // the last one is not cut
    if (left < labelled) continue;
    labelled = left + view.textWidth(text) + 4;
    context.fillText(text, left, view.ruler - 15);
  }
  context.fillStyle = colours.panel;
  context.fillRect(0, 0, view.gutter, view.ruler - 1);
  context.fillStyle = colours.muted;
  const note = view.note || `in view: ${roughTime(Math.round(view.t1 - view.t0))}`;
  paintText(app, context, view.note ? "" : note, 8, view.ruler - 15, view.gutter - 12);
  if (view.note) paintNote(app, context);
}

function paintNote(app, context) {
  const { view, colours } = app;
  const width = view.textWidth(view.note) + 14;
  context.fillStyle = colours.warnBack;
  context.fillRect(view.width - width - 6, view.height - 24, width, 20);
  context.fillStyle = colours.warnInk;
  context.fillText(view.note, view.width - width + 1, view.height - 13);
}

function paintOverview({ view, colours, list }, context) {
  const length = list.end - list.begin || 1;
  const place = (time) => view.gutter + Math.min(1, Math.max(0, (time - list.begin) / length)) * view.plotWidth;
  context.fillStyle = colours.band;
  context.fillRect(view.gutter, 2, view.plotWidth, OVERVIEW - 3);
  const [x0, x1] = [place(view.t0), place(view.t1)];
  context.fillStyle = colours.bandEdge;
  context.fillRect(Math.min(x0, view.width - 8), 2, Math.max(8, x1 - x0), OVERVIEW - 3);
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = least / power <= 1 ? 1 : least / power <= 2 ? 2 : least / power <= 5 ? 5 : 10;
  return Math.max(timeUnit === "ns" ? 1 : 1, factor * power);
}
