// Numbers of phases: over everything that is shown, or over a range of time.

/** A row of the table for each kernel, name, kind and lane. Ranges that were running are counted apart. */
function phaseStatistics(recording, shownWaves, range) {
  const keys = phaseKeys(recording);
  const sums = makeSums(keys.names.length * keys.kernels.length);
  const { waves, slices } = recording;
  let waveTime = 0;
  for (const wave of shownWaves) {
    const begin = waves.begin[wave];
    const [from, to] = range ? [range.begin - begin, range.end - begin] : [-Infinity, Infinity];
    const inside = Math.min(to, waves.ns[wave]) - Math.max(from, 0);
    if (inside > 0) waveTime += inside;
    const kernel = keys.kernelOf[waves.dispatch[wave]] * keys.names.length;
    const first = waves.firstSlice[wave];
    addSlices(slices, first, first + waves.slices[wave], { keys, kernel, from, to }, sums);
  }
  const rows = tableRows(keys, sums, waveTime);
  return { rows, marks: markCounts(recording, shownWaves, range), waveTime, waves: shownWaves.length };
}

function makeSums(count) {
  const column = (value) => new Float64Array(count).fill(value);
  return {
    count: column(0), total: column(0), inRange: column(0), running: column(0), unclosed: column(0),
    min: column(Infinity), max: column(-Infinity),
  };
}

/** A slice belongs to a range that it touches; one without length, if it begins in it. */
function touches(begin, ns, from, to) {
  return begin < to && (begin + ns > from || (ns === 0 && begin === from));
}

function addSlices(slices, first, stop, { keys, kernel, from, to }, sums) {
  const { begin, ns, event, flags } = slices;
  for (let row = first; row < stop; row++) {
    const length = ns[row];
    const start = begin[row];
    if (!touches(start, length, from, to)) continue;
    const key = kernel + keys.nameOf[event[row]];
    if (flags[row] & 16) {
      sums.running[key]++;
      continue;
    }
    if (flags[row] & 1) sums.unclosed[key]++;
    sums.count[key]++;
    sums.total[key] += length;
    sums.inRange[key] += Math.min(to, start + length) - Math.max(from, start);
    if (length < sums.min[key]) sums.min[key] = length;
    if (length > sums.max[key]) sums.max[key] = length;
  }
}

/** Kernels of one name are one kernel, events of one name, kind and lane one phase, as in `summary`. */
function phaseKeys(recording) {
  if (recording.phaseKeys) return recording.phaseKeys;
  const { kernels, dispatches } = recording.tables;
  const [names, kernelNames] = [new Map(), new Map()];
  const nameOf = recording.events.map(({ name, kind, lane }) => {
    const key = JSON.stringify([name, kind, lane]);
    if (!names.has(key)) names.set(key, { number: names.size, name, kind, lane });
    return names.get(key).number;
  });
  const kernelOf = dispatches.map(({ kernel }) => {
    const key = kernels[kernel].mangled;
    if (!kernelNames.has(key)) kernelNames.set(key, { number: kernelNames.size, name: kernels[kernel].name });
    return kernelNames.get(key).number;
  });
  return (recording.phaseKeys = {
    nameOf, kernelOf, names: [...names.values()], kernels: [...kernelNames.values()],
  });
}

function tableRows(keys, sums, waveTime) {
  const rows = [];
  keys.kernels.forEach((kernel) => keys.names.forEach(({ name, kind, lane, number }) => {
    const key = kernel.number * keys.names.length + number;
    const count = sums.count[key];
    if (!count && !sums.running[key]) return;
    rows.push({
      kernel: kernel.name, name, kind, lane, count, total: sums.total[key], inRange: sums.inRange[key],
      share: waveTime ? sums.inRange[key] / waveTime : 0, mean: count ? sums.total[key] / count : 0,
      min: count ? sums.min[key] : 0, max: count ? sums.max[key] : 0,
      running: sums.running[key], unclosed: sums.unclosed[key],
    });
  }));
  return rows;
}

function markCounts(recording, shownWaves, range) {
  const { waves, instants, events } = recording;
  const counts = new Map();
  for (const wave of shownWaves) {
    const first = waves.firstInstant[wave];
    for (let mark = first; mark < first + waves.instants[wave]; mark++) {
      const at = waves.begin[wave] + instants.begin[mark];
      if (range && (at < range.begin || at >= range.end)) continue;
      const { name } = events[instants.event[mark]];
      counts.set(name, (counts.get(name) || 0) + 1);
    }
  }
  return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
}

/** How often each length occurs: bars of equal ratio between the shortest and the longest. */
function histogram(recording, shownWaves, slice, bars) {
  const keys = phaseKeys(recording);
  const { waves, slices } = recording;
  const wanted = keys.nameOf[slices.event[slice]];
  const kernel = keys.kernelOf[waves.dispatch[waveOfSlice(recording, slice)]];
  const lengths = [];
  for (const wave of shownWaves) {
    if (keys.kernelOf[waves.dispatch[wave]] !== kernel) continue;
    const first = waves.firstSlice[wave];
    for (let row = first; row < first + waves.slices[wave]; row++) {
      if (keys.nameOf[slices.event[row]] === wanted && !(slices.flags[row] & 16)) lengths.push(slices.ns[row]);
    }
  }
  if (!lengths.length) return null;
  let [min, max, total, below] = [Infinity, -Infinity, 0, 0];
  for (const length of lengths) {
    min = Math.min(min, length);
    max = Math.max(max, length);
    total += length;
    if (length < slices.ns[slice]) below++;
  }
  const [low, high] = [Math.log(min + 1), Math.log(max + 1)];
  const place = (length) => Math.min(bars - 1, Math.floor((bars * (Math.log(length + 1) - low)) / (high - low || 1)));
  const counts = new Uint32Array(bars);
  for (const length of lengths) counts[place(length)]++;
  return { count: lengths.length, min, max, mean: total / lengths.length, below, counts, own: place(slices.ns[slice]) };
}
