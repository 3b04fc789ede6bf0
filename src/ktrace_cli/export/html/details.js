// Tips, facts and tables: everything that is text. Names are untrusted: only textContent gets them.

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function facts(pairs) {
  const list = element("dl");
  for (const [term, text] of pairs) {
    if (text !== "") list.append(element("dt", { textContent: term }), element("dd", { textContent: text }));
  }
  return list;
}

function chip(app, event) {
  const made = element("span", { className: "chip" });
  made.style.background = app.palette.fill[event];
  return made;
}

/** What is known of a slice, a mark, a wave, a dispatch or a head: nodes for the tip or the panel. */
function describeThing(app, thing) {
  if (thing.kind === "slice") return describeSlice(app, thing.row);
  if (thing.kind === "mark") return describeMark(app, thing.row);
  if (thing.kind === "wave") return describeWave(app, thing.row);
  if (thing.kind === "dispatch") return describeDispatch(app, app.list.rows[thing.row].dispatch);
  return describeRow(app, app.list.rows[thing.row]);
}

function titled(title, pairs, flags = []) {
  const nodes = [element("p", { className: "title" }, ...title), facts(pairs)];
  return [...nodes, ...flags.map((text) => element("p", { className: "flag", textContent: text }))];
}

function placePairs({ recording }, wave) {
  const { waves, tables } = recording;
  return [
    ["wave", `${waveLabel(recording, wave)} of workgroup ${groupLabel(recording, wave)}`],
    ["dispatch", dispatchLabel(recording, waves.dispatch[wave])],
    ["hardware", `${tables.devices.length > 1 ? `device ${tables.dispatches[waves.dispatch[wave]].device} · ` : ""}`
      + (tables.has_places
        ? `${placeLabel(recording, wave)} · SIMD ${waves.simd[wave]} · slot ${waves.hardware_slot[wave]}`
        : "not recorded")],
  ];
}

function sourceText({ file, line }) {
  return file ? `${file}${line ? `:${line}` : ""}` : "";
}

function valuesText(values) {
  return values.map(({ type, text }) => `${text} (${type})`).join(", ");
}

function describeSlice(app, row) {
  const { recording } = app;
  const { slices, waves, events, tables } = recording;
  const wave = waveOfSlice(recording, row);
  const event = events[slices.event[row]];
  const parent = parentOf(recording, row);
  const lane = slices.lane[row] ? tables.lanes[slices.lane[row]] : "";
  return titled([chip(app, slices.event[row]), event.name], [
    ["duration", lengthText(slices.ns[row], slices.ticks[row], slices.flags[row])],
    ["begin", `${exactTime(waves.begin[wave] + slices.begin[row])}`],
    ["in its wave", timeAndCycles(exactTime(slices.begin[row]), slices.beginTicks[row])],
    ["payload", valuesText(payloads(recording, slices, row))],
    ["kind", event.kind + (lane ? ` on lane ${lane}` : "") + (slices.depth[row] ? `, depth ${slices.depth[row]}` : "")],
    ["inside", parent < 0 ? "" : events[slices.event[parent]].name],
    ...placePairs(app, wave),
    ["source", sourceText(event)],
  ], flagsInWords(slices.flags[row] & RUNNING ? slices.flags[row] & ~UNCLOSED : slices.flags[row], SLICE_FLAGS));
}

function describeMark(app, row) {
  const { recording } = app;
  const { instants, waves, events } = recording;
  const wave = waveOfInstant(recording, row);
  const event = events[instants.event[row]];
  return titled([element("span", { className: "chip mark" }), event.name], [
    ["time", exactTime(waves.begin[wave] + instants.begin[row])],
    ["in its wave", timeAndCycles(exactTime(instants.begin[row]), instants.ticks[row])],
    ["payload", valuesText(payloads(recording, instants, row))],
    ["kind", "mark"],
    ...placePairs(app, wave),
    ["source", sourceText(event)],
  ]);
}

/** An unfinished wave of an unfinished dispatch lasts until that was written, and so do its ranges. */
function waveLength({ recording }, wave) {
  const { waves, tables } = recording;
  const isUnfinished = waves.flags[wave] & 1;
  const isRunning = isUnfinished && tables.dispatches[waves.dispatch[wave]].unfinished;
  return lengthText(waves.ns[wave], waves.ticks[wave], isRunning ? RUNNING : isUnfinished ? UNCLOSED : 0);
}

/** The tip must not hide what surrounds a wave: all else is told after a click. */
function waveInALine(app, wave) {
  const { recording } = app;
  const { waves, tables } = recording;
  const several = tables.dispatches.length > 1 ? `${tables.dispatches[waves.dispatch[wave]].number} · ` : "";
  const text = `${several}${waveLabel(recording, wave)} of workgroup ${groupLabel(recording, wave)}`;
  const length = `${waves.flags[wave] & 1 ? "at least " : ""}${roughTime(waves.ns[wave])}`;
  return element("p", { className: "line" }, `${text} · ${length}`);
}

function describeWave(app, wave) {
  const { recording } = app;
  const { waves } = recording;
  const lost = [["dropped", waves.dropped[wave]], ["overwritten", waves.overwritten[wave]]];
  return titled([waveLabel(recording, wave)], [
    ["duration", waveLength(app, wave)],
    ["begin", exactTime(waves.begin[wave])],
    ...placePairs(app, wave).slice(1),
    ["workgroup", groupLabel(recording, wave)],
    ["recorded", `${counted(waves.slices[wave], "range")}, ${counted(waves.instants[wave], "mark")}, `
      + `${counted(waves.words[wave], "word")} (${grouped(waves.side_words[wave])} from partly active waves)`],
  ], [
    ...lost.filter(([, count]) => count).map(([name, count]) => `${counted(count, "word")} ${name}`),
    ...flagsInWords(waves.flags[wave], WAVE_FLAGS),
  ]);
}

function describeDispatch(app, row) {
  const { tables, waves } = app.recording;
  const dispatch = tables.dispatches[row];
  const kernel = tables.kernels[dispatch.kernel];
  let own = 0;
  for (let wave = 0; wave < waves.count; wave++) if (waves.dispatch[wave] === row) own++;
  const flags = [];
  if (dispatch.unfinished) flags.push("still running when it was recorded");
  if (dispatch.status) flags.push(`ended with HIP error ${dispatch.status}`);
  return titled([`dispatch ${dispatch.number}`], [
    ["kernel", kernel.signature],
    ["grid", `${dispatch.grid.join(" × ")} workgroups of ${dispatch.block.join(" × ")} work-items`],
    ["waves", `${grouped(own)} here${dispatch.expected ? `; ${grouped(dispatch.expected)} were expected` : ""}`],
    ["duration", `${bothTimes(dispatch.end - dispatch.begin)}, first wave to last`],
    ["begin", exactTime(dispatch.begin)],
    ["host", timeUnit !== "ns" ? "" : `launched at ${exactTime(dispatch.launched)}, `
      + (dispatch.was_completed ? `known to be done at ${exactTime(dispatch.completed)}` : "its end is not known")],
    ["device", `${dispatch.device}, stream ${dispatch.stream}`],
    ["launch", `number ${dispatch.launch} of the process, by thread ${dispatch.thread}`],
    ["LDS", `${grouped(dispatch.shared_bytes)} bytes asked for at the launch`],
  ], flags);
}

function describeRow(app, row) {
  const pairs = row.end === undefined ? [["", row.note || ""]] : [
    ["time", `${exactTime(row.begin)} to ${exactTime(row.end)}`],
    ["duration", bothTimes(row.end - row.begin)],
    [row.kind === "role" ? "waves" : "hardware", row.note || ""],
  ];
  return titled([row.label], pairs);
}

function showTip(app) {
  const { tip, under, pointer, view } = app;
  tip.hidden = !under || app.drag !== null || app.tipHeld !== null;
  if (tip.hidden) return;
  tip.replaceChildren(...(under.kind === "wave" ? [waveInALine(app, under.row)] : describeThing(app, under)));
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  const left = pointer.x + 18 + width > view.width ? Math.max(4, pointer.x - width - 14) : pointer.x + 18;
  const top = pointer.y + 18 + height > view.height ? Math.max(4, pointer.y - height - 12) : pointer.y + 18;
  tip.style.left = `${left}px`;
  tip.style.top = `${top}px`;
}

/** The left half of the panel: what was clicked. */
function showFacts(app) {
  const { chosen } = app;
  if (!chosen.kind) {
    const text = "Click a range or a mark for details, a name at the left for its statistics."
      + " Shift-drag selects a time.";
    app.factsPanel.replaceChildren(element("p", { textContent: text }));
    return;
  }
  const nodes = describeThing(app, chosen);
  if (chosen.kind === "slice") nodes.push(...describePhase(app, chosen.row));
  app.factsPanel.replaceChildren(...nodes);
  app.factsPanel.scrollTop = 0;
}

function describePhase(app, slice) {
  const { recording } = app;
  const bars = 56;
  const found = histogram(recording, app.list.waves, slice, bars);
  if (!found) return [];
  const { name } = recording.events[recording.slices.event[slice]];
  const isEndless = recording.slices.flags[slice] & ENDLESS;
  const ratio = found.mean ? (recording.slices.ns[slice] / found.mean).toFixed(2) : "1.00";
  const canvas = element("canvas", { width: 2 * 6 * bars, height: 88 });
  canvas.style.width = "100%";
  canvas.style.height = "44px";
  paintHistogram(app, canvas, found);
  return [
    element("h2", {}, `${name}: ${grouped(found.count)} shown `),
    facts([
      ["this one", isEndless ? "" : `${ratio} × the mean; longer than ${grouped(found.below)} of them`],
      ["mean", roughTime(found.mean)],
      ["min, max", `${exactTime(found.min)}, ${exactTime(found.max)}`],
    ]),
    canvas,
    element("small", {
      textContent: `lengths from min to max, each bar a ratio${isEndless ? "" : "; the dark bar holds this one"}`,
    }),
  ];
}

function paintHistogram({ colours }, canvas, { counts, own }) {
  const context = canvas.getContext("2d");
  const width = canvas.width / counts.length;
  const most = Math.max(...counts);
  counts.forEach((count, i) => {
    if (!count) return;
    const height = Math.max(4, (canvas.height - 6) * (count / most));
    context.fillStyle = i === own ? colours.accent : colours.bandEdge;
    context.fillRect(i * width, canvas.height - height, width - 2, height);
  });
  context.fillStyle = colours.line;
  context.fillRect(0, canvas.height - 1, canvas.width, 1);
}

const SELF = "without what nests inside: on a wave's own lane no time counts twice";
const TABLE_COLUMNS = [
  { key: "name", label: "phase", text: (row) => row.name },
  { key: "kernel", label: "kernel", text: (row) => row.kernel, when: (all) => all.kernels > 1 },
  { key: "kind", label: "kind", text: (row) => row.kind },
  { key: "lane", label: "lane", text: (row) => row.lane, when: (all) => all.rows.some((row) => row.lane) },
  { key: "count", label: "count", text: (row) => grouped(row.count), isNumber: true },
  { key: "open", label: "open", text: (row) => grouped(row.open), isNumber: true,
    title: "had not ended when it was recorded, or its wave had no room for the end; in no other number",
    when: (all) => all.rows.some((row) => row.open) },
  { key: "total", label: "total", text: (row) => exactTime(row.total), isNumber: true },
  { key: "self", label: "self", text: (row) => exactTime(row.self), isNumber: true, title: SELF,
    when: (all) => all.hasSelf },
  { key: "inRange", label: "in selection", text: (row) => exactTime(row.inRange), isNumber: true,
    when: (all) => all.range },
  { key: "share", label: "share", text: (row) => percent(row.share), isNumber: true,
    title: "of the time of all waves; what nests inside counts for both" },
  { key: "selfShare", label: "self share", text: (row) => percent(row.selfShare), isNumber: true, title: SELF,
    when: (all) => all.hasSelf },
  { key: "mean", label: "mean", text: (row) => meanText(row.mean), isNumber: true },
  { key: "min", label: "min", text: (row) => exactTime(row.min), isNumber: true },
  { key: "p50", label: "p50", text: (row) => exactTime(row.p50), isNumber: true },
  { key: "p99", label: "p99", text: (row) => exactTime(row.p99), isNumber: true },
  { key: "max", label: "max", text: (row) => exactTime(row.max), isNumber: true },
  { key: "unclosed", label: "no end", text: (row) => grouped(row.unclosed), isNumber: true,
    when: (all) => all.rows.some((row) => row.unclosed) },
];

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

function meanText(mean) {
  return `${mean.toLocaleString("en-US", { maximumFractionDigits: 1 })} ${timeUnit}`;
}

/** The waves that the table adds up: those of the name that was clicked, else all that are shown. */
function tableWaves({ recording, list, chosen }) {
  if (chosen.kind === "wave") {
    const name = `${waveLabel(recording, chosen.row)} of workgroup ${groupLabel(recording, chosen.row)}`;
    return { waves: [chosen.row], name };
  }
  if (!chosen.kind || chosen.kind === "slice" || chosen.kind === "mark") return { waves: list.waves, name: "" };
  const row = list.rows[chosen.row];
  return { waves: wavesOfRow(list, row), name: row.label };
}

/** The right half of the panel: statistics of the selected time, or of all of it. */
function showTable(app) {
  const { waves, name } = tableWaves(app);
  const found = phaseStatistics(app.recording, waves, app.range);
  app.statistics = found;
  const kernels = new Set(found.rows.map((row) => row.kernel)).size;
  // What nests in a range may lie outside of the window of time that the page was made of.
  const all = { ...found, range: app.range, kernels, hasSelf: !app.recording.tables.is_window };
  const columns = TABLE_COLUMNS.filter(({ when }) => !when || when(all));
  const { key, sign } = app.sort;
  found.rows.sort((a, b) => {
    const order = typeof a[key] === "string" ? a[key].localeCompare(b[key]) : a[key] - b[key];
    return sign * order || a.name.localeCompare(b.name);
  });
  const head = element("tr", {}, ...columns.map((column) => headCell(app, column)));
  const body = found.rows.map((row) => bodyRow(app, columns, row));
  const marks = found.marks.map((row) => bodyRow(app, columns, { ...row, isMark: true, kind: "mark" }));
  const table = element("table", {}, caption(app, found, name), element("thead", {}, head),
    element("tbody", {}, ...body, ...marks));
  app.tablePanel.replaceChildren(table);
}

function caption(app, found, name) {
  const { range } = app;
  const time = range ? `Selection: ${exactTime(range.end - range.begin)} from ${exactTime(range.begin)}`
    : name ? "" : `All that is shown: ${exactTime(app.list.end - app.list.begin)}`;
  const what = [time, shortened(name, 90)].filter(Boolean).join(" · ");
  const how = range ? "; ranges that it touches, with their whole length" : "";
  const of = `${counted(found.waves, "wave")}, ${roughTime(found.waveTime)} of wave time${how}`;
  const made = element("caption", {}, what, " ", element("small", { textContent: of }));
  if (range || name) {
    const clear = element("button", { textContent: "all", title: "show the statistics of all rows and times  Esc" });
    clear.addEventListener("click", () => {
      app.range = null;
      if (name) app.choose(NOTHING);
      else app.select(null);
    });
    made.append(clear);
  }
  return made;
}

function headCell(app, { key, label, isNumber, title = "" }) {
  const isSorted = app.sort.key === key;
  const arrow = isSorted ? (app.sort.sign > 0 ? " ▴" : " ▾") : "";
  const button = element("button", { textContent: label + arrow, title });
  button.addEventListener("click", () => {
    app.sort = { key, sign: isSorted ? -app.sort.sign : isNumber ? -1 : 1 };
    showTable(app);
  });
  const cell = element("th", { className: isNumber ? "number" : "", scope: "col" }, button);
  if (isSorted) cell.setAttribute("aria-sort", app.sort.sign > 0 ? "ascending" : "descending");
  return cell;
}

function bodyRow(app, columns, row) {
  const cells = columns.map((column) => {
    if (column.key === "name") return nameCell(app, row);
    const always = ["count", "kind", "kernel", "lane", "open"];
    const isKnown = row.isMark ? ["count", "kind"].includes(column.key) : row.count || always.includes(column.key);
    return element("td", { className: column.isNumber ? "number" : "", textContent: isKnown ? column.text(row) : "" });
  });
  return element("tr", {}, ...cells);
}

function nameCell(app, row) {
  const event = app.recording.events.findIndex((e) => e.name === row.name);
  const sign = row.isMark ? element("span", { className: "chip mark" }) : chip(app, event);
  const button = element("button", { title: "search this name" }, sign, row.name);
  button.addEventListener("click", () => app.lookFor(`"${row.name}"`));
  return element("td", { className: "name" }, button);
}
