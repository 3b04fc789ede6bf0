// The recording as columns, from the page's blocks. Times are whole; those of slices and marks count
// from the begin of their wave, those of waves and dispatches from the page's zero.

/** Read the page. `progress` gets the share that was read; the page's data is taken out of the document. */
async function readRecording(progress) {
  const [tables, totals] = ["tables", "totals"].map((id) => document.getElementById(id));
  if (!totals) throw new Error("the file is cut: its end is missing");
  return readElements({ ...JSON.parse(tables.textContent), ...JSON.parse(totals.textContent) }, progress);
}

async function readElements(tables, progress) {
  const recording = emptyRecording(tables);
  const elements = [...document.querySelectorAll('script[type="application/octet-stream"]')];
  let next = elements.length ? inflateElement(elements[0]) : null;
  for (let i = 0; i < elements.length; i++) {
    const bytes = await next;
    next = i + 1 < elements.length ? inflateElement(elements[i + 1]) : null;
    if (elements[i].className === "waves") addWaves(recording, bytes);
    else addRows(recording, readBlock(bytes, tables.columns.rows));
    progress((i + 1) / elements.length);
  }
  finish(recording);
  return recording;
}

function inflateElement(element) {
  const bytes = bytesOfBase64(element.textContent);
  element.remove();
  return inflate(bytes);
}

function emptyRecording(tables) {
  const stores = (names, rows) => Object.fromEntries(names.map((name) => [name, new Store(rows)]));
  return {
    tables,
    events: tables.events.map(([name, kind, lane, file, line]) => ({ name, kind, lane, file, line })),
    waves: null,
    slices: stores(["event", "lane", "depth", "flags", "values", "beginTicks", "ticks", "begin", "ns"],
      tables.slices),
    instants: stores(["event", "values", "ticks", "begin"], tables.instants),
    blocks: [], // where each block's slices, marks and payloads begin
    at: { slice: 0, instant: 0 },
    flows: { source: [], destination: [], edge: [] },
  };
}

function addWaves(recording, bytes) {
  const waves = readBlock(bytes, recording.tables.columns.waves);
  const count = waves.wave.length;
  const begin = new Float64Array(count);
  for (let i = 0, at = 0; i < count; i++) begin[i] = at += waves.begin[i];
  const whole = () => new Int32Array(count);
  recording.waves = {
    ...waves, count, begin, firstSlice: whole(), slices: whole(), firstInstant: whole(), instants: whole(),
  };
}

function addRows(recording, block) {
  const { slices, instants, at, waves } = recording;
  recording.blocks.push({
    slice: { first: at.slice, types: block["slice.value_type"], bits: block["slice.value_bits"] },
    instant: { first: at.instant, types: block["instant.value_type"], bits: block["instant.value_bits"] },
  });
  const times = rowTimes(waves, block, at);
  for (const name of ["event", "lane", "depth", "flags", "values"]) {
    slices[name].put(at.slice, block[`slice.${name}`]);
  }
  slices.ticks.put(at.slice, block["slice.ticks"]);
  for (const name of ["beginTicks", "begin", "ns"]) slices[name].put(at.slice, times[name]);
  instants.event.put(at.instant, block["instant.event"]);
  instants.values.put(at.instant, block["instant.values"]);
  instants.ticks.put(at.instant, times.instantTicks);
  instants.begin.put(at.instant, times.instantBegin);
  for (let i = 0, source = 0; i < block["flow.source"].length; i++) {
    source += block["flow.source"][i];
    recording.flows.source.push(at.slice + source);
    recording.flows.destination.push(at.slice + source + block["flow.destination"][i]);
    recording.flows.edge.push(block["flow.edge"][i]);
  }
  at.slice += times.begin.length;
  at.instant += times.instantBegin.length;
}

/** Undo what blocks.py does to times, wave by wave. */
function rowTimes(waves, block, at) {
  const count = block["slice.ticks"].length;
  const marks = block["instant.ticks"].length;
  const times = {
    beginTicks: new Float64Array(count), begin: new Float64Array(count), ns: new Float64Array(count),
    instantTicks: new Float64Array(marks), instantBegin: new Float64Array(marks),
  };
  let row = 0;
  let mark = 0;
  let wave = 0;
  for (let i = 0; i < block["wave.row"].length; i++) {
    wave += block["wave.row"][i];
    waves.firstSlice[wave] = at.slice + row;
    waves.slices[wave] = block["wave.slices"][i];
    waves.firstInstant[wave] = at.instant + mark;
    waves.instants[wave] = block["wave.instants"][i];
    const rate = waves.ticks[wave] > 0 ? waves.ns[wave] / waves.ticks[wave] : 0;
    sliceTimes(block, times, rate, row, row + waves.slices[wave]);
    instantTimes(block, times, rate, mark, mark + waves.instants[wave]);
    row += waves.slices[wave];
    mark += waves.instants[wave];
  }
  return times;
}

function sliceTimes(block, times, rate, first, stop) {
  const [steps, ticks, lanes] = [block["slice.begin_ticks"], block["slice.ticks"], block["slice.lane"]];
  const [beginOff, endOff] = [block["slice.begin_off"], block["slice.end_off"]];
  for (let row = first, at = 0; row < stop; row++) {
    at = row > first && lanes[row] === lanes[row - 1] ? at + steps[row] : steps[row];
    const begin = Math.floor(at * rate + 0.5) + beginOff[row];
    times.beginTicks[row] = at;
    times.begin[row] = begin;
    times.ns[row] = Math.floor((at + ticks[row]) * rate + 0.5) + endOff[row] - begin;
  }
}

function instantTimes(block, times, rate, first, stop) {
  for (let row = first, at = 0; row < stop; row++) {
    at += block["instant.ticks"][row];
    times.instantTicks[row] = at;
    times.instantBegin[row] = Math.floor(at * rate + 0.5) + block["instant.off"][row];
  }
}

function finish(recording) {
  const { tables, slices, instants } = recording;
  if (recording.at.slice !== tables.slices || recording.at.instant !== tables.instants) {
    throw new Error(`the page has ${recording.at.slice} of ${tables.slices} ranges`
      + ` and ${recording.at.instant} of ${tables.instants} marks`);
  }
  for (const rows of [slices, instants]) {
    for (const name of Object.keys(rows)) rows[name] = rows[name].array;
  }
  for (const name of Object.keys(recording.flows)) {
    recording.flows[name] = Int32Array.from(recording.flows[name]);
  }
  recording.sliceOwners = ownersBy(recording.waves, "firstSlice", "slices");
  recording.instantOwners = ownersBy(recording.waves, "firstInstant", "instants");
  recording.tracks = makeTracks(recording);
  recording.arrows = arrowsByWave(recording);
}

/** Waves that have rows, in the order of these. */
function ownersBy(waves, first, count) {
  const owners = [];
  for (let wave = 0; wave < waves.count; wave++) if (waves[count][wave]) owners.push(wave);
  owners.sort((a, b) => waves[first][a] - waves[first][b]);
  return { waves: Int32Array.from(owners), first: Int32Array.from(owners, (w) => waves[first][w]) };
}

/** The index of the last value that is not above `wanted`, of those in [low, high); low - 1 if none. */
function lastNotAbove(values, wanted, low = 0, high = values.length) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function waveOfSlice(recording, slice) {
  return recording.sliceOwners.waves[lastNotAbove(recording.sliceOwners.first, slice)];
}

function waveOfInstant(recording, instant) {
  return recording.instantOwners.waves[lastNotAbove(recording.instantOwners.first, instant)];
}

/** Tracks: the slices of one wave, lane and depth, which follow each other. `slices` lists them all. */
function makeTracks(recording) {
  const { waves, slices, tables } = recording;
  let deepest = 0;
  for (let i = 0; i < slices.depth.length; i++) if (slices.depth[i] > deepest) deepest = slices.depth[i];
  const depths = deepest + 1;
  const counts = new Int32Array(Math.max(1, tables.lanes.length) * depths);
  const order = new Uint32Array(tables.slices);
  const tracks = { lane: [], depth: [], start: [], stop: [] };
  const first = new Int32Array(waves.count + 1);
  for (let wave = 0; wave < waves.count; wave++) {
    first[wave] = tracks.lane.length;
    const begin = waves.firstSlice[wave];
    const stop = begin + waves.slices[wave];
    const used = [];
    for (let row = begin; row < stop; row++) {
      const key = slices.lane[row] * depths + slices.depth[row];
      if (counts[key]++ === 0) used.push(key);
    }
    used.sort((a, b) => a - b);
    let at = begin;
    for (const key of used) {
      tracks.lane.push(Math.floor(key / depths));
      tracks.depth.push(key % depths);
      tracks.start.push(at);
      at += counts[key];
      tracks.stop.push(at);
      counts[key] = at - counts[key];
    }
    for (let row = begin; row < stop; row++) {
      order[counts[slices.lane[row] * depths + slices.depth[row]]++] = row;
    }
    for (const key of used) counts[key] = 0;
  }
  first[waves.count] = tracks.lane.length;
  for (const name of Object.keys(tracks)) tracks[name] = Int32Array.from(tracks[name]);
  return { ...tracks, first, order, deepest };
}

/** Arrows of each wave, by where they begin and by where they end. */
function arrowsByWave(recording) {
  const { flows, waves } = recording;
  const listed = (ends) => {
    const owner = Int32Array.from(ends, (slice) => waveOfSlice(recording, slice));
    const first = new Int32Array(waves.count + 1);
    for (const wave of owner) first[wave + 1]++;
    for (let i = 0; i < waves.count; i++) first[i + 1] += first[i];
    const next = first.slice();
    const rows = new Int32Array(owner.length);
    owner.forEach((wave, row) => { rows[next[wave]++] = row; });
    return { owner, first, rows };
  };
  return { from: listed(flows.source), to: listed(flows.destination) };
}

/** The slice around this one on its lane, or -1. */
function parentOf(recording, slice) {
  const { lane, depth } = recording.slices;
  if (!depth[slice]) return -1;
  for (let row = slice - 1; row >= 0 && lane[row] === lane[slice]; row--) {
    if (depth[row] === depth[slice] - 1) return row;
  }
  return -1;
}

function payloads(recording, rows, row) {
  const blocks = recording.blocks.map((b) => (rows === recording.slices ? b.slice : b.instant));
  const block = blocks[lastNotAbove(blocks.map(({ first }) => first), row)];
  let at = 0;
  for (let i = block.first; i < row; i++) at += rows.values[i];
  const values = [];
  for (let i = at; i < at + rows.values[row]; i++) {
    const type = recording.tables.value_types[block.types[i]];
    values.push({ type: type || "bits", text: valueText(type, block.bits[0][i], block.bits[1][i]) });
  }
  return values;
}
