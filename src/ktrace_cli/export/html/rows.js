// Which rows there are, from top to bottom, and which lines each has. Knows no time on the screen.

const LINE = 17;
const MARKS = 11; // the strip of marks above the lines of a wave
const TITLE = 14; // the strip with a wave's name in rows that many waves share
const HEAD = 22;
const GAP = 4;
const COMPACT = 7;
const TORN = 2;

const MODES = [
  ["groups", "workgroups", "workgroups with their waves"],
  ["roles", "roles", "waves by their role (KTRACE_GROUP)"],
  ["hardware", "hardware", "XCD, SE, CU and wave slots, which waves use in turn"],
];

function waveLabel(recording, wave) {
  const { waves, events } = recording;
  const role = waves.group[wave] >= 0 ? ` · ${events[waves.group[wave]].name}` : "";
  return `wave ${waves.wave[wave]}${role}`;
}

function groupLabel(recording, wave) {
  const { waves } = recording;
  return `${waves.x[wave]},${waves.y[wave]},${waves.z[wave]}`;
}

function placeLabel(recording, wave) {
  const { waves, tables } = recording;
  return !tables.has_places ? "" : `XCD ${waves.xcc[wave]} · SE ${waves.se[wave]} · CU ${waves.cu[wave]}`;
}

function dispatchLabel(recording, row) {
  const dispatch = recording.tables.dispatches[row];
  return `${dispatch.number} · ${shortened(recording.tables.kernels[dispatch.kernel].name, 90)}`;
}

/** Waves that have a time, of a dispatch (-1: all) and a workgroup ("": all), in order of both. */
function wavesOf(recording, dispatch, group) {
  const { waves } = recording;
  const rows = [];
  for (let wave = 0; wave < waves.count; wave++) {
    if (waves.flags[wave] & TORN) continue;
    if (dispatch >= 0 && waves.dispatch[wave] !== dispatch) continue;
    if (group && groupLabel(recording, wave) !== group) continue;
    rows.push(wave);
  }
  return sortedBy(rows, [waves.dispatch, waves.z, waves.y, waves.x, waves.wave]);
}

function sortedBy(rows, columns) {
  return rows.sort((a, b) => {
    for (const column of columns) if (column[a] !== column[b]) return column[a] - column[b];
    return a - b;
  });
}

/** All rows of a scope: {mode, dispatch, group, compact}. */
function makeRows(recording, scope) {
  const waves = wavesOf(recording, scope.dispatch, scope.group);
  const list = {
    rows: [], waves: Int32Array.from(waves), height: 0, rowOfWave: new Int32Array(recording.waves.count).fill(-1),
    ...extent(recording, waves),
  };
  const shapes = new ShapeTable(recording, scope, waves.some((wave) => recording.waves.instants[wave]));
  const add = (row) => addRow(list, row);
  if (scope.mode === "hardware") addSlots(recording, waves, shapes, add);
  else if (scope.mode === "roles") addRoles(recording, waves, shapes, add);
  else addGroups(recording, waves, shapes, add);
  list.shapes = shapes;
  return list;
}

function addRow(list, row) {
  row.index = list.rows.length;
  row.y = list.height;
  row.height = row.shape ? row.shape.height : HEAD;
  list.height += row.height;
  if (row.waves) for (const wave of row.waves) list.rowOfWave[wave] = row.index;
  list.rows.push(row);
}

function extent(recording, list) {
  const { begin, ns } = recording.waves;
  let [first, last] = [Infinity, -Infinity];
  for (const wave of list) {
    first = Math.min(first, begin[wave]);
    last = Math.max(last, begin[wave] + ns[wave]);
  }
  return list.length ? { begin: first, end: last } : { begin: 0, end: 1000 };
}

function addGroups(recording, waves, shapes, add) {
  const { dispatch } = recording.waves;
  let [head, group] = [-1, ""];
  runsOf(waves, (wave) => `${dispatch[wave]}/${groupLabel(recording, wave)}`, (run) => {
    const first = run[0];
    if (dispatch[first] !== head) {
      head = dispatch[first];
      add({ kind: "dispatch", dispatch: head, label: `dispatch ${dispatchLabel(recording, head)}` });
    }
    group = groupLabel(recording, first);
    if (!shapes.compact) {
      add({
        kind: "group", dispatch: head, group, label: `workgroup ${group}`, note: placeLabel(recording, first),
        ...extent(recording, run),
      });
    }
    const caption = shapes.compact ? { text: `workgroup ${group}`, waves: run.length, first: -1 } : null;
    for (const wave of run) {
      const row = { kind: "wave", waves: [wave], label: waveLabel(recording, wave), shape: shapes.of([wave]), caption };
      add(row);
      if (caption && caption.first < 0) caption.first = row.index;
    }
  });
}

function addRoles(recording, waves, shapes, add) {
  const { group, dispatch } = recording.waves;
  const several = new Set(waves.map((wave) => dispatch[wave])).size > 1;
  const roles = new Map();
  for (const wave of waves) {
    if (!roles.has(group[wave])) roles.set(group[wave], []);
    roles.get(group[wave]).push(wave);
  }
  for (const [role, own] of [...roles].sort(([a], [b]) => a - b)) {
    const name = role < 0 ? "no role" : recording.events[role].name;
    add({ kind: "role", label: name, note: counted(own.length, "wave"), ...extent(recording, own) });
    for (const wave of own) {
      const of = several ? `${recording.tables.dispatches[dispatch[wave]].number} · ` : "";
      const label = `${of}${groupLabel(recording, wave)} · wave ${recording.waves.wave[wave]}`;
      add({ kind: "wave", waves: [wave], label, shape: shapes.of([wave]) });
    }
  }
}

function addSlots(recording, waves, shapes, add) {
  const own = recording.waves;
  const device = Int32Array.from(own.dispatch, (row) => recording.tables.dispatches[row].device);
  const several = recording.tables.devices.length > 1;
  const slots = [device, own.xcc, own.se, own.cu, own.simd, own.hardware_slot];
  const sorted = sortedBy(waves.slice(), [...slots, own.begin]);
  let place = "";
  runsOf(sorted, (wave) => slots.map((column) => column[wave]).join(), (run) => {
    const first = run[0];
    const here = (several ? `device ${device[first]} · ` : "") + (placeLabel(recording, first) || "place not recorded");
    if (here !== place) add({ kind: "place", label: place = here });
    fitted(own, run).forEach((line, number) => {
      const again = number ? ` (${number + 1})` : ""; // clocks are known to some nanoseconds only
      add({
        kind: "slot", waves: line, label: `SIMD ${own.simd[first]} · slot ${own.hardware_slot[first]}${again}`,
        note: counted(line.length, "wave"), shape: shapes.of(line, true),
      });
    });
  });
}

/** Waves in order of their begins, spread over as many lines as needed so that none overlap. */
function fitted({ begin, ns }, waves) {
  const lines = [];
  for (const wave of waves) {
    let line = lines.find((l) => l.end <= begin[wave]);
    if (!line) lines.push(line = { waves: [], end: 0 });
    line.waves.push(wave);
    line.end = begin[wave] + ns[wave];
  }
  return lines.map((line) => line.waves);
}

function runsOf(rows, keyOf, visit) {
  let [run, key] = [[], null];
  for (const row of rows) {
    const own = keyOf(row);
    if (own !== key && run.length) {
      visit(run);
      run = [];
    }
    key = own;
    run.push(row);
  }
  if (run.length) visit(run);
}

/** The lines of a row: one for each lane and depth that its waves use. Most rows share few shapes. */
class ShapeTable {
  constructor(recording, scope, hasMarks) {
    this.recording = recording;
    this.compact = scope.compact;
    this.marks = hasMarks && !scope.compact ? MARKS : 0;
    this.known = new Map();
  }

  of(waves, hasTitle = false) {
    const { first, lane, depth } = this.recording.tracks;
    const keys = new Set();
    for (const wave of waves) {
      for (let t = first[wave]; t < first[wave + 1]; t++) keys.add(lane[t] * 65536 + depth[t]);
    }
    const sorted = [...keys].sort((a, b) => a - b);
    const name = `${hasTitle}${sorted.join()}`;
    if (!this.known.has(name)) this.known.set(name, this.make(sorted, hasTitle));
    return this.known.get(name);
  }

  make(keys, hasTitle) {
    if (this.compact) {
      const line = { lane: 0, depth: 0, y: 1, height: COMPACT - 1, label: "" };
      return { lines: [line], lineOf: new Map([[keys[0], 0]]), height: COMPACT, title: 0, marks: 0 };
    }
    const title = hasTitle ? TITLE : 0;
    const top = title + this.marks + GAP / 2;
    const lines = keys.map((key, i) => {
      const [lane, depth] = [Math.floor(key / 65536), key % 65536];
      const label = lane && !depth ? this.recording.tables.lanes[lane] : "";
      return { lane, depth, y: top + i * LINE, height: LINE - 1, label };
    });
    const lineOf = new Map(keys.map((key, i) => [key, i]));
    const height = top + Math.max(1, lines.length) * LINE + GAP / 2;
    return { lines, lineOf, height, title, marks: this.marks };
  }
}

/** The waves of a row; of a head, those of the rows below it. */
function wavesOfRow(list, row) {
  if (row.waves) return row.waves;
  const waves = [];
  const isEnd = ({ kind }) => kind === row.kind || (row.kind !== "dispatch" && kind === "dispatch");
  for (let i = row.index + 1; i < list.rows.length && !isEnd(list.rows[i]); i++) {
    if (list.rows[i].waves) waves.push(...list.rows[i].waves);
  }
  return waves;
}

function lineOfSlice(recording, shape, slice) {
  const line = shape.lineOf.get(recording.slices.lane[slice] * 65536 + recording.slices.depth[slice]);
  return line === undefined ? null : shape.lines[line];
}

function rowAt(list, y) {
  let [low, high] = [0, list.rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list.rows[middle].y + list.rows[middle].height <= y) low = middle + 1;
    else high = middle;
  }
  return low; // rows.length if below all
}
