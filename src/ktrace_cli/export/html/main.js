// Puts the page together: reads the recording, then shows it.

const app = {
  scope: { mode: "groups", dispatch: -1, group: "", compact: false },
  chosen: NOTHING, under: null, pointer: null, drag: null, range: null,
  tipHeld: null, // where the pointer was when something else than it moved: no tip until it moves
  sort: { key: "total", sign: -1 },
  search: { text: "", hits: null, count: 0, hit: null },
};

function byId(id) {
  return document.getElementById(id);
}

Object.assign(app, {
  redraw() {
    if (app.frame) return;
    app.frame = requestAnimationFrame(() => {
      app.frame = 0;
      const begin = performance.now();
      if (app.pointer && !app.drag) app.under = hitTest(app, app.pointer.x, app.pointer.y);
      paintPicture(app);
      paintOverlay(app);
      showTip(app);
      app.frameTime = performance.now() - begin;
    });
  },

  redrawOverlay() {
    if (app.overlayFrame) return;
    app.overlayFrame = requestAnimationFrame(() => {
      app.overlayFrame = 0;
      paintOverlay(app);
      showTip(app);
    });
  },

  holdTip() {
    app.tipHeld = app.pointer;
    app.tip.hidden = true;
  },

  zoomPoint() {
    const { view, pointer } = app;
    const isInside = pointer && pointer.x >= view.gutter && pointer.x < view.width;
    return isInside ? pointer.x : view.gutter + view.plotWidth / 2;
  },

  /** Show another part of the recording, or show it in another way. */
  show(change) {
    const before = app.scope;
    app.scope = { ...before, ...change };
    const isSamePart = ["dispatch", "group"].every((name) => before[name] === app.scope[name]);
    app.list = makeRows(app.recording, app.scope);
    app.under = null;
    if (!isSamePart || !app.wasShown) {
      app.range = null;
      if (isHidden(app.chosen)) app.chosen = NOTHING;
    }
    if (app.chosen.kind && !["slice", "mark", "wave"].includes(app.chosen.kind)) app.chosen = NOTHING;
    showControls();
    app.countHits();
    showFacts(app);
    showTable(app);
    scrollTo(app, isSamePart ? app.view.scroll : 0);
    if (!isSamePart || !app.wasShown) fit(app);
    app.wasShown = true;
    app.redraw();
  },

  choose(thing) {
    const before = tableWaves(app).name;
    app.chosen = thing;
    showFacts(app);
    if (tableWaves(app).name !== before) showTable(app);
    app.redraw();
  },

  select(range) {
    app.range = range;
    showTable(app);
    app.redraw();
  },

  lookFor(text) {
    if (app.searchBox.value !== text) app.searchBox.value = text;
    app.search = { text, hits: text ? matchingEvents(app.recording.events, text) : null, count: 0, hit: null };
    app.countHits();
    app.redraw();
  },

  countHits() {
    const { search, recording } = app;
    search.hit = null;
    if (search.hits) {
      search.count = countHits(recording, search.hits, app.list.waves);
      const isPart = app.list.waves.length < recording.waves.count;
      search.all = isPart ? countHits(recording, search.hits, wavesOf(recording, -1, "")) : search.count;
    }
    showFound();
  },

  stepHit(direction) {
    const { search, recording, list, view } = app;
    if (!search.hits || !search.count) return;
    const from = search.hit || { time: view.t0, number: direction > 0 ? -1 : Infinity };
    search.hit = findHit(recording, search.hits, list.waves, from, direction);
    showFound();
    app.choose({ kind: search.hit.kind, row: search.hit.row });
    reveal(app, app.chosen);
  },

  stepGroup(direction) {
    const options = groupOptions().slice(1).map(([value]) => value);
    if (!options.length) return;
    const at = options.indexOf(app.scope.group);
    const next = at < 0 ? (direction > 0 ? 0 : options.length - 1) : at + direction;
    if (next >= 0 && next < options.length) app.show({ group: options[next], dispatch: groupDispatch() });
  },
});

function isHidden({ kind, row }) {
  if (!kind) return false;
  const wave = kind === "slice" ? waveOfSlice(app.recording, row)
    : kind === "mark" ? waveOfInstant(app.recording, row) : row;
  return app.list.rowOfWave[wave] < 0;
}

/** Workgroups are those of one dispatch. */
function groupDispatch() {
  return app.scope.dispatch >= 0 ? app.scope.dispatch : firstDispatch();
}

function firstDispatch() {
  const [first] = wavesOf(app.recording, -1, "");
  return first === undefined ? -1 : app.recording.waves.dispatch[first];
}

function groupOptions() {
  const dispatch = groupDispatch();
  if (app.groupsOf !== dispatch) {
    const groups = new Set(wavesOf(app.recording, dispatch, "").map((wave) => groupLabel(app.recording, wave)));
    app.groups = [["", `all ${grouped(groups.size)}`], ...[...groups].map((group) => [group, group])];
    app.groupsOf = dispatch;
  }
  return app.groups;
}

function showControls() {
  const { scope, recording } = app;
  const { dispatches } = recording.tables;
  const isOne = scope.dispatch >= 0;
  fillSelect(byId("dispatch"), [
    ["-1", `all ${grouped(dispatches.length)}`],
    ...dispatches.map((_, row) => [String(row), dispatchLabel(recording, row)]),
  ], String(scope.dispatch));
  fillSelect(byId("workgroup"), isOne ? groupOptions() : [["", "all"]], scope.group);
  byId("workgroup").disabled = !isOne;
  const options = groupOptions();
  byId("previous-group").disabled = scope.group !== "" && scope.group === (options[1] || [])[0];
  byId("next-group").disabled = scope.group !== "" && scope.group === options[options.length - 1][0];
  byId("compact").checked = scope.compact;
  for (const button of byId("modes").children) {
    button.setAttribute("aria-pressed", String(button.dataset.mode === scope.mode));
  }
}

function showFound() {
  const { search } = app;
  const place = search.hit ? `${grouped(search.hit.index)} of ` : "";
  const more = search.all > search.count ? ` (${grouped(search.all)} in all)` : "";
  byId("found").textContent = search.hits ? `${place}${grouped(search.count)}${more}` : "";
  for (const id of ["previous-hit", "next-hit"]) byId(id).disabled = !search.hits || !search.count;
}

function showHeader({ tables, waves }) {
  const names = [...new Set(tables.dispatches.map(({ kernel }) => tables.kernels[kernel].name))];
  const kernels = names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
  byId("heading").textContent = shortened(kernels, 200) || tables.title;
  byId("heading").title = names.join("\n");
  const devices = tables.devices.map((device) => {
    const clock = device.core_hz ? `, ${(device.core_hz / 1e9).toFixed(3)} GHz (clock: ${device.clock})` : "";
    return `device ${device.device}: ${device.target.split(":")[0]} ${device.name}${clock}`;
  });
  const counts = `${counted(tables.dispatches.length, "dispatch", "dispatches")}, ${counted(waves.count, "wave")}, `
    + `${counted(tables.slices, "range")}, ${counted(tables.instants, "mark")}`;
  byId("device").textContent = [counts, ...devices].join(" · ");
  byId("command").textContent = tables.command;
  byId("command").title = tables.command;
  const modelled = tables.devices.filter((device) => device.modelled);
  byId("modelled").hidden = !modelled.length;
  const which = modelled.length < tables.devices.length ? ` (device ${modelled.map((d) => d.device).join(", ")})` : "";
  byId("modelled").textContent = `modelled times: software device${which}`;
}

function showQuality({ tables }) {
  const nodes = tables.losses.map((text) => element("span", { className: "bad", textContent: `⚠ ${text}` }));
  if (!nodes.length) nodes.push(element("span", { className: "good", textContent: "✓ nothing is missing ·" }));
  const notes = [...tables.notes];
  const own = tables.own_clock;
  if (timeUnit !== "ns") notes.push(`cycles of ${own || "each XCC's core clock"}: these clocks are not aligned with each other`);
  else {
    notes.push(`0 is ${tables.zero} ns of ${own || "the host's clock"}`);
    const clocks = tables.devices.filter(({ clock }) => clock && !own);
    notes.push(...clocks.map((d) => `clock of device ${d.device} within ${d.residual_ns} ns`));
  }
  const text = nodes.flatMap((node) => [node, " "]);
  byId("quality").replaceChildren(...text, element("span", { textContent: notes.join(" · ") }));
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["back", "panel", "ink", "muted", "line", "band", "head", "accent", "arrow", "mark", "range", "stripe"];
  app.colours = Object.fromEntries(names.map((name) => [name, value(name)]));
  for (const [name, of] of [["bandEdge", "band-edge"], ["warnBack", "warn-back"], ["warnInk", "warn-ink"]]) {
    app.colours[name] = value(of);
  }
  app.palette = makePalette(app.recording.events, matchMedia("(prefers-color-scheme: dark)").matches);
}

function bindControls() {
  for (const [mode, label, title] of MODES) {
    if (mode === "roles" && !app.recording.waves.group.some((group) => group >= 0)) continue;
    const button = element("button", { textContent: label, title });
    button.dataset.mode = mode;
    button.addEventListener("click", () => app.show({ mode }));
    byId("modes").append(button);
  }
  byId("dispatch").addEventListener("change", (event) => app.show({ dispatch: Number(event.target.value), group: "" }));
  byId("workgroup").addEventListener("change", (event) => app.show({ group: event.target.value }));
  byId("previous-group").addEventListener("click", () => app.stepGroup(-1));
  byId("next-group").addEventListener("click", () => app.stepGroup(1));
  byId("compact").addEventListener("change", (event) => app.show({ compact: event.target.checked }));
  byId("previous-hit").addEventListener("click", () => app.stepHit(-1));
  byId("next-hit").addEventListener("click", () => app.stepHit(1));
  byId("fit").addEventListener("click", () => fit(app));
  byId("help").addEventListener("click", () => app.keysDialog.showModal());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    showFacts(app);
    showTable(app);
    app.redraw();
  });
  new ResizeObserver(() => {
    app.view.resize();
    scrollTo(app, app.view.scroll);
  }).observe(app.view.stage);
  bindDivider();
}

function bindDivider() {
  const [divider, panel] = [byId("divider"), byId("panel")];
  divider.addEventListener("pointerdown", (event) => {
    const from = { y: event.clientY, height: panel.offsetHeight };
    divider.setPointerCapture(event.pointerId);
    divider.onpointermove = (move) => {
      const height = from.height + from.y - move.clientY;
      panel.style.height = `${Math.min(Math.max(0, height), window.innerHeight - 220)}px`;
    };
    divider.onpointerup = () => { divider.onpointermove = null; };
  });
}

function showMessage(...lines) {
  byId("message").replaceChildren(...lines.map((text) => element("p", { textContent: text })));
  byId("message").hidden = !lines.length;
}

async function start() {
  if (typeof DecompressionStream === "undefined") {
    const needs = "It needs DecompressionStream: Chrome 80, Firefox 113, Safari 16.4 or newer.";
    showMessage("this browser is too old for this page", needs);
    return;
  }
  const recording = await readRecording((share) => showMessage(`reading the recording: ${Math.round(100 * share)} %`));
  timeUnit = recording.tables.unit;
  Object.assign(app, {
    recording, scrollBar: byId("scroll"), spacer: byId("spacer"), tip: byId("tip"), factsPanel: byId("facts"),
    tablePanel: byId("table"), searchBox: byId("search"), keysDialog: byId("keys"),
    view: new View(byId("stage"), byId("picture"), byId("overlay")),
  });
  readColours();
  showHeader(recording);
  showQuality(recording);
  bindControls();
  bindPointer(app);
  bindKeys(app);
  const { launches } = recording.tables;
  const seen = launches ? `${counted(launches, "launch was", "launches were")} seen.` : "";
  if (wavesOf(recording, -1, "").length) showMessage();
  else showMessage("no wave was recorded", seen, ...recording.tables.losses);
  app.show({ dispatch: firstDispatch() });
  app.isReady = true;
}

window.ktrace = app;
app.ready = new Promise((resolve) => {
  document.addEventListener("DOMContentLoaded", resolve);
}).then(start).catch((problem) => {
  showMessage("this page cannot be shown", String(problem));
  throw problem;
});
