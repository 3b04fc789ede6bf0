// Mouse, wheel, keys and the controls above the picture.

const MOST_OPTIONS = 2000;
const TIP_STEP = 2; // px: browsers send moves that are none, and hands tremble
const NOTHING = { kind: "", row: -1 };

function setTime(app, t0, t1) {
  const { view, list } = app;
  const whole = list.end - list.begin || 1;
  const length = Math.min(Math.max(t1 - t0, 5), whole * 1.5 + 10);
  const middle = Math.min(Math.max((t0 + t1) / 2, list.begin - 0.25 * whole), list.end + 0.25 * whole);
  view.t0 = middle - length / 2;
  view.t1 = middle + length / 2;
  app.redraw();
}

function zoom(app, factor, x) {
  const { view } = app;
  const at = view.time(Math.max(view.gutter, x));
  setTime(app, at - (at - view.t0) * factor, at + (view.t1 - at) * factor);
}

function pan(app, pixels) {
  const step = pixels * app.view.perPixel;
  setTime(app, app.view.t0 + step, app.view.t1 + step);
}

function fit(app, begin = app.list.begin, end = app.list.end, margin = 0.02) {
  const edge = Math.max((end - begin) * margin, 2);
  setTime(app, begin - edge, end + edge);
}

function scrollTo(app, y) {
  const { view, list } = app;
  view.scroll = Math.round(Math.min(Math.max(0, y), Math.max(0, list.height - view.plotHeight)));
  syncScroll(app);
  app.redraw();
}

// Browsers limit an element's height; beyond it, the scroll bar's steps are larger than a pixel.
const MOST_HEIGHT = 8_000_000;

function syncScroll(app) {
  const { view, list, scrollBar, spacer } = app;
  const height = Math.min(list.height + view.ruler, MOST_HEIGHT);
  spacer.style.height = `${height}px`;
  const room = Math.max(1, list.height - view.plotHeight);
  app.scrollFactor = room / Math.max(1, height - view.height);
  app.ownScroll = Math.round(view.scroll / app.scrollFactor);
  scrollBar.scrollTop = app.ownScroll;
}

function timesOf(app, thing) {
  const { waves, slices, instants, tables } = app.recording;
  if (thing.kind === "slice") {
    const begin = waves.begin[waveOfSlice(app.recording, thing.row)] + slices.begin[thing.row];
    return [begin, begin + slices.ns[thing.row]];
  }
  if (thing.kind === "mark") {
    const at = waves.begin[waveOfInstant(app.recording, thing.row)] + instants.begin[thing.row];
    return [at, at];
  }
  if (thing.kind === "wave") return [waves.begin[thing.row], waves.begin[thing.row] + waves.ns[thing.row]];
  const row = app.list.rows[thing.row];
  const of = thing.kind === "dispatch" ? tables.dispatches[row.dispatch] : row;
  return of && of.end !== undefined ? [of.begin, of.end] : null;
}

function zoomTo(app, thing) {
  const times = timesOf(app, thing);
  if (times) fit(app, times[0], times[1], 0.15);
}

/** Bring a slice or mark into view without changing more than needed. */
function reveal(app, thing) {
  const { view, list, recording } = app;
  const [begin, end] = timesOf(app, thing);
  const isTiny = thing.kind === "slice" && (end - begin) / view.perPixel < 4 && end > begin;
  if (isTiny) fit(app, begin, end, 12);
  else if (begin < view.t0 || begin > view.t1) {
    const half = (view.t1 - view.t0) / 2;
    setTime(app, begin - half, begin + half);
  }
  const wave = thing.kind === "slice" ? waveOfSlice(recording, thing.row) : waveOfInstant(recording, thing.row);
  const row = list.rows[list.rowOfWave[wave]];
  if (row && (row.y < view.scroll + HEAD || row.y + row.height > view.scroll + view.plotHeight)) {
    scrollTo(app, row.y - Math.max(HEAD, (view.plotHeight - row.height) / 2));
  }
}

function pointerAt(app, event) {
  const box = app.view.stage.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function bindPointer(app) {
  const { view } = app;
  const surface = view.overlay;
  surface.addEventListener("wheel", (event) => onWheel(app, event), { passive: false });
  surface.addEventListener("pointerdown", (event) => startDrag(app, event));
  surface.addEventListener("pointermove", (event) => onMove(app, event));
  surface.addEventListener("pointerup", (event) => endDrag(app, event));
  surface.addEventListener("pointercancel", () => { app.drag = null; });
  surface.addEventListener("pointerleave", () => {
    if (app.drag) return;
    app.pointer = app.under = null;
    app.redrawOverlay();
  });
  surface.addEventListener("dblclick", (event) => onDoubleClick(app, event));
  app.scrollBar.addEventListener("scroll", () => {
    if (Math.abs(app.scrollBar.scrollTop - app.ownScroll) < 1.5) return;
    view.scroll = Math.round(app.scrollBar.scrollTop * app.scrollFactor);
    app.ownScroll = app.scrollBar.scrollTop;
    app.redraw();
  });
}

function onWheel(app, event) {
  event.preventDefault();
  app.holdTip();
  const scale = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
  const [dx, dy] = [event.deltaX * scale, event.deltaY * scale];
  const { x } = pointerAt(app, event);
  if (event.shiftKey || x < app.view.gutter) scrollTo(app, app.view.scroll + (dy || dx));
  else if (Math.abs(dx) > Math.abs(dy)) pan(app, dx);
  else zoom(app, Math.exp(Math.max(-300, Math.min(300, dy)) * (event.ctrlKey ? 0.01 : 0.002)), x);
}

function startDrag(app, event) {
  if (event.button !== 0) return;
  const { view } = app;
  const at = pointerAt(app, event);
  const inPlot = at.x >= view.gutter;
  const kind = inPlot && at.y < OVERVIEW ? "overview"
    : inPlot && (event.shiftKey || at.y < view.ruler) ? "select" : "pan";
  app.drag = { kind, from: at, t0: view.t0, t1: view.t1, scroll: view.scroll, time: view.time(at.x), moved: false };
  view.overlay.setPointerCapture(event.pointerId);
  if (kind === "overview") moveOverview(app, at);
}

function onMove(app, event) {
  const { drag, view } = app;
  const at = pointerAt(app, event);
  app.pointer = at;
  if (drag && drag.moved) app.holdTip();
  else if (app.tipHeld && Math.hypot(at.x - app.tipHeld.x, at.y - app.tipHeld.y) > TIP_STEP) app.tipHeld = null;
  if (!drag) {
    app.under = hitTest(app, at.x, at.y);
    view.overlay.style.cursor = app.under ? "pointer" : at.y < view.ruler ? "col-resize" : "default";
    app.redrawOverlay();
    return;
  }
  if (!drag.moved && Math.hypot(at.x - drag.from.x, at.y - drag.from.y) < 4) return;
  drag.moved = true;
  if (drag.kind === "overview") moveOverview(app, at);
  else if (drag.kind === "select") {
    const times = [drag.time, view.time(Math.max(view.gutter, at.x))].map(Math.round).sort((a, b) => a - b);
    app.range = { begin: times[0], end: times[1] };
    app.redrawOverlay();
  } else {
    view.overlay.style.cursor = "grabbing";
    const step = (at.x - drag.from.x) * view.perPixel;
    setTime(app, drag.t0 - step, drag.t1 - step);
    scrollTo(app, drag.scroll - (at.y - drag.from.y));
  }
}

function moveOverview(app, { x }) {
  const { view, list } = app;
  const middle = list.begin + ((x - view.gutter) / view.plotWidth) * (list.end - list.begin);
  const half = (view.t1 - view.t0) / 2;
  setTime(app, middle - half, middle + half);
}

function endDrag(app, event) {
  const { drag } = app;
  app.drag = null;
  if (!drag) return;
  app.view.overlay.style.cursor = "default";
  if (drag.moved) {
    if (drag.kind === "select") app.select(app.range.end > app.range.begin ? app.range : null);
    return;
  }
  const at = pointerAt(app, event);
  if (at.y < app.view.ruler) return app.select(null);
  app.choose(hitTest(app, at.x, at.y) || NOTHING);
}

function onDoubleClick(app, event) {
  const { x, y } = pointerAt(app, event);
  const thing = hitTest(app, x, y);
  if (!thing) return;
  const row = app.list.rows[thing.row];
  if (thing.kind === "group") app.show({ mode: "groups", dispatch: row.dispatch, group: row.group });
  else if (thing.kind === "dispatch") app.show({ dispatch: row.dispatch, group: "" });
  else zoomTo(app, thing);
}

const KEYS = {
  w: (app) => zoom(app, 0.7, app.zoomPoint()), s: (app) => zoom(app, 1 / 0.7, app.zoomPoint()),
  "+": (app) => zoom(app, 0.7, app.zoomPoint()), "=": (app) => zoom(app, 0.7, app.zoomPoint()),
  "-": (app) => zoom(app, 1 / 0.7, app.zoomPoint()),
  a: (app) => pan(app, -0.15 * app.view.plotWidth), d: (app) => pan(app, 0.15 * app.view.plotWidth),
  arrowleft: (app) => pan(app, -0.15 * app.view.plotWidth), arrowright: (app) => pan(app, 0.15 * app.view.plotWidth),
  arrowup: (app) => scrollTo(app, app.view.scroll - 60), arrowdown: (app) => scrollTo(app, app.view.scroll + 60),
  pageup: (app) => scrollTo(app, app.view.scroll - app.view.plotHeight + HEAD),
  pagedown: (app) => scrollTo(app, app.view.scroll + app.view.plotHeight - HEAD),
  home: (app) => scrollTo(app, 0), end: (app) => scrollTo(app, app.list.height),
  f: (app) => (app.range ? fit(app, app.range.begin, app.range.end, 0.15)
    : app.chosen.kind ? zoomTo(app, app.chosen) : fit(app)),
  0: (app) => fit(app),
  m: (app) => {
    const times = app.chosen.kind && timesOf(app, app.chosen);
    if (times && times[1] > times[0]) app.select({ begin: times[0], end: times[1] });
  },
  ",": (app) => stepOnTrack(app, -1), ".": (app) => stepOnTrack(app, 1),
  "[": (app) => app.stepGroup(-1), "]": (app) => app.stepGroup(1),
  c: (app) => app.show({ compact: !app.scope.compact }),
  n: (app) => app.stepHit(1), p: (app) => app.stepHit(-1),
  "/": (app) => { app.searchBox.focus(); app.searchBox.select(); },
  "?": (app) => app.keysDialog.showModal(),
  escape: (app) => (app.range ? app.select(null) : app.chosen.kind ? app.choose(NOTHING) : app.lookFor("")),
};

function bindKeys(app) {
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || app.keysDialog.open) return;
    if (event.target.matches("input, select")) {
      if (event.key === "Escape" && event.target === app.searchBox) {
        app.lookFor("");
        app.searchBox.blur();
      }
      return;
    }
    const action = KEYS[event.key.toLowerCase()];
    if (!action || (event.target.matches("button") && event.key.length > 1 && event.key !== "Escape")) return;
    event.preventDefault();
    app.holdTip();
    action(app);
  });
  app.searchBox.addEventListener("input", () => {
    app.holdTip();
    app.lookFor(app.searchBox.value);
  });
  app.searchBox.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    app.holdTip();
    app.stepHit(event.shiftKey ? -1 : 1);
  });
}

/** Choose the next or previous slice of the same wave, lane and depth. */
function stepOnTrack(app, direction) {
  if (app.chosen.kind !== "slice") return;
  const { recording } = app;
  const { lane, depth } = recording.slices;
  const wave = waveOfSlice(recording, app.chosen.row);
  const first = recording.waves.firstSlice[wave];
  const stop = first + recording.waves.slices[wave];
  for (let row = app.chosen.row + direction; row >= first && row < stop; row += direction) {
    if (lane[row] !== lane[app.chosen.row] || depth[row] !== depth[app.chosen.row]) continue;
    app.choose({ kind: "slice", row });
    reveal(app, app.chosen);
    return;
  }
}

function fillSelect(select, options, value) {
  const at = Math.max(0, options.findIndex(([own]) => own === value));
  const last = Math.max(1, options.length - MOST_OPTIONS);
  const first = Math.min(Math.max(1, at - MOST_OPTIONS / 2), last);
  const near = [...options.slice(0, 1), ...options.slice(first, first + MOST_OPTIONS)];
  select.replaceChildren(...near.map(([own, text]) => element("option", { value: own, textContent: text })));
  const left = options.length - near.length;
  if (left > 0) {
    const textContent = `… ${grouped(left)} more: double-click a name below`;
    select.append(element("option", { disabled: true, textContent }));
  }
  select.value = value;
}
