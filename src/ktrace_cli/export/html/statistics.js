// Numbers of phases: over everything that is shown, or over a range of time.

/** A row of the table for each kernel, name, kind and lane. Ranges without a known length are counted apart. */
function phaseStatistics(recording, shownWaves, range) {
  const keys = phaseKeys(recording);
  const sums = makeSums(keys.names.length * keys.kernels.length);
  const { waves, slices } = recording;
  const spans = []; // of slices that are looked at, with what they count for
  let waveTime = 0;
  for (const wave of shownWaves) {
    const begin = waves.begin[wave];
    const [from, to] = range ? [range.begin - begin, range.end - begin] : [-Infinity, Infinity];
    const inside = Math.min(to, waves.ns[wave]) - Math.max(from, 0);
    if (inside > 0) waveTime += inside;
    const kernel = keys.kernelOf[waves.dispatch[wave]] * keys.names.length;
    const first = waves.firstSlice[wave];
    const span = { first, stop: first + waves.slices[wave], keys, kernel, from, to };
    addSlices(slices, span, sums);
    spans.push(span);
  }
  sums.percentiles = percentiles(slices, spans, sums.count);
  const rows = tableRows(keys, sums, waveTime);
  return { rows, marks: markCounts(recording, shownWaves, range), waveTime, waves: shownWaves.length };
}

function makeSums(count) {
  const column = (value) => new Float64Array(count).fill(value);
  return {
    count: column(0), total: column(0), inRange: column(0), open: column(0), unclosed: column(0),
    self: column(0), selfInRange: column(0),
    min: column(Infinity), max: column(-Infinity),
  };
}

/** A slice belongs to a range that it touches; one without length, if it begins in it. */
function touches(begin, ns, from, to) {
  return begin < to && (begin + ns > from || (ns === 0 && begin === from));
}

/** What a slice counts for, or -1: it has no known length, or does not belong to the range. */
function countedKey({ begin, ns, event, flags }, row, { keys, kernel, from, to }) {
  if (flags[row] & ENDLESS || !touches(begin[row], ns[row], from, to)) return -1;
  return kernel + keys.nameOf[event[row]];
}

function addSlices(slices, span, sums) {
  const { begin, ns, event, flags, lane, depth } = slices;
  const { first, stop, keys, kernel, from, to } = span;
  const around = []; // what the slices around the next one count for, by their depth
  for (let row = first; row < stop; row++) {
    const start = begin[row];
    const length = ns[row];
    const level = depth[row];
    const inside = Math.max(0, Math.min(to, start + length) - Math.max(from, start));
    const outer = level && row > first && lane[row] === lane[row - 1] ? around[level - 1] : -1;
    if (outer >= 0) {
      sums.self[outer] -= length;
      sums.selfInRange[outer] -= inside;
    }
    const key = around[level] = countedKey(slices, row, span);
    if (key < 0) {
      const isOpen = flags[row] & ENDLESS && touches(start, length, from, to);
      if (isOpen) sums.open[kernel + keys.nameOf[event[row]]]++;
      continue;
    }
    if (flags[row] & UNCLOSED) sums.unclosed[key]++;
    sums.count[key]++;
    sums.total[key] += length;
    sums.self[key] += length;
    sums.inRange[key] += inside;
    sums.selfInRange[key] += inside;
    if (length < sums.min[key]) sums.min[key] = length;
    if (length > sums.max[key]) sums.max[key] = length;
  }
}

/** The least length that half, and 99 of 100, do not exceed, for each key. */
function percentiles(slices, spans, counts) {
  const next = new Float64Array(counts.length);
  for (let key = 1; key < counts.length; key++) next[key] = next[key - 1] + counts[key - 1];
  const lengths = new slices.ns.constructor(counts.reduce((sum, count) => sum + count, 0));
  for (const span of spans) {
    for (let row = span.first; row < span.stop; row++) {
      const key = countedKey(slices, row, span);
      if (key >= 0) lengths[next[key]++] = slices.ns[row];
    }
  }
  return Array.from(counts, (count, key) => {
    if (!count) return [0, 0];
    const [first, stop] = [next[key] - count, next[key]];
    const [half, most] = [50, 99].map((percent) => first + Math.ceil((percent * count) / 100) - 1);
    return [nthLeast(lengths, first, stop, half), nthLeast(lengths, half, stop, most)];
  });
}

/** The value that is at `n` once values[low..high) are sorted; nothing before it is larger then. */
function nthLeast(values, low, high, n) {
  while (high - low > 1) {
    const [a, b, c] = [values[low], values[(low + high) >>> 1], values[high - 1]];
    const pivot = Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
    let left = low;
    let right = high - 1;
    while (left <= right) {
      while (values[left] < pivot) left++;
      while (values[right] > pivot) right--;
      if (left > right) break;
      const value = values[left];
      values[left++] = values[right];
      values[right--] = value;
    }
    if (n <= right) high = right + 1;
    else if (n >= left) low = left;
    else break;
  }
  return values[n];
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
    if (!count && !sums.open[key]) return;
    const [p50, p99] = sums.percentiles[key];
    rows.push({
      kernel: kernel.name, name, kind, lane, count, total: sums.total[key], inRange: sums.inRange[key],
      self: sums.self[key], share: waveTime ? sums.inRange[key] / waveTime : 0,
      selfShare: waveTime ? sums.selfInRange[key] / waveTime : 0, p50, p99, mean: count ? sums.total[key] / count : 0,
      min: count ? sums.min[key] : 0, max: count ? sums.max[key] : 0,
      open: sums.open[key], unclosed: sums.unclosed[key],
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
      if (keys.nameOf[slices.event[row]] === wanted && !(slices.flags[row] & ENDLESS)) lengths.push(slices.ns[row]);
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
