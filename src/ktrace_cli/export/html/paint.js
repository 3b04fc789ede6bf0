// Draws rows. Ranges that are narrower than a label are pixels of a strip, at most one search per
// pixel, so that a frame costs the same for a thousand slices and for millions.

const WIDE = 7; // px from which a slice is a box of its own
const LABELLED = 20;
const HIT_LOOK = 24; // slices of a pixel in which a hit is looked for

/** Everything that one frame needs. */
function paintPicture(app) {
  const { view, list } = app;
  const frame = startFrame(app);
  const first = rowAt(list, view.scroll);
  for (let i = first; i < list.rows.length && list.rows[i].y < view.scroll + view.plotHeight; i++) {
    frame.shown.push(list.rows[i]);
  }
  const context = frame.context;
  context.save();
  context.beginPath();
  context.rect(0, view.ruler, view.width, view.plotHeight);
  context.clip();
  for (const row of frame.shown) paintBand(app, frame, row);
  for (const row of frame.shown) if (row.shape) collectRow(app, frame, row);
  paintStrips(app, frame);
  paintBoxes(app, frame);
  paintMarks(app, frame);
  paintArrows(app, frame);
  for (const row of frame.shown) paintNames(app, frame, row);
  paintCaptions(app, frame);
  paintSticky(app, frame);
  context.restore();
  paintRuler(app, frame);
}

function startFrame(app) {
  const { view, colours } = app;
  const context = view.picture.getContext("2d", { alpha: false });
  context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
  context.fillStyle = colours.back;
  context.fillRect(0, 0, view.width, view.height);
  context.textBaseline = "middle";
  context.font = view.font;
  const pixels = Math.max(1, Math.round(view.plotWidth * view.ratio));
  return {
    context, shown: [], pixels, perPixel: (view.t1 - view.t0) / pixels, strips: [],
    boxes: [], marks: [],
  };
}

function screenY(view, y) {
  return Math.round(view.ruler + y - view.scroll);
}

function clampX(view, time) {
  return Math.min(view.gutter + view.plotWidth + 4, Math.max(view.gutter - 4, view.x(time)));
}

function paintBand(app, { context }, row) {
  const { view, colours, recording } = app;
  const y = screenY(view, row.y);
  if (!row.shape) return paintHead(app, context, row, y);
  const { begin, ns } = recording.waves;
  context.fillStyle = colours.band;
  let from = 0;
  if (row.waves.length > 1) from = Math.max(0, firstWaveAt(app, row, view.t0) - 1);
  for (let i = from, last = -1; i < row.waves.length; i++) {
    const wave = row.waves[i];
    const x0 = clampX(view, begin[wave]);
    if (begin[wave] > view.t1) break;
    const x1 = Math.max(clampX(view, begin[wave] + ns[wave]), x0 + 1);
    if (x1 <= last + 0.5) continue;
    last = x1;
    context.fillRect(x0, y + 1, x1 - x0, row.height - 2);
    if (row.height > COMPACT && x1 - x0 > 3) {
      context.fillStyle = colours.bandEdge;
      context.fillRect(x0, y + 1, 1, row.height - 2);
      context.fillRect(x1 - 1, y + 1, 1, row.height - 2);
      if (row.shape.title) paintTitle(app, context, wave, x0, x1, y);
      context.fillStyle = colours.band;
    }
  }
}

function paintTitle(app, context, wave, x0, x1, y) {
  const left = Math.max(x0, app.view.gutter);
  const { recording } = app;
  const number = recording.tables.dispatches[recording.waves.dispatch[wave]].number;
  const text = `${number} · ${groupLabel(recording, wave)} · ${waveLabel(recording, wave)}`;
  context.fillStyle = app.colours.muted;
  paintText(app, context, text, left + 4, y + TITLE / 2 + 1, Math.min(x1, app.view.width) - left - 6);
}

function paintHead(app, context, row, y) {
  const { view, colours, recording } = app;
  context.fillStyle = row.kind === "dispatch" ? colours.head : colours.stripe;
  context.fillRect(0, y, view.width, HEAD);
  context.fillStyle = colours.line;
  context.fillRect(0, y, view.width, 1);
  if (row.kind === "place") return;
  const of = row.kind === "dispatch" ? recording.tables.dispatches[row.dispatch] : row;
  const [x0, x1] = [clampX(view, of.begin), clampX(view, of.end)];
  context.fillStyle = colours.bandEdge;
  context.fillRect(x0, y + HEAD / 2 - 3, Math.max(1, x1 - x0), row.kind === "dispatch" ? 7 : 5);
  if (row.kind !== "dispatch" || timeUnit !== "ns") return;
  // The host's times around it: from the launch to the moment when it was known to be done.
  const [launched, completed] = [clampX(view, of.launched), clampX(view, of.was_completed ? of.completed : of.end)];
  context.fillRect(launched, y + HEAD / 2, Math.max(0, completed - launched), 1);
  context.fillRect(launched, y + HEAD / 2 - 4, 1, 9);
  if (of.was_completed) context.fillRect(completed, y + HEAD / 2 - 4, 1, 9);
}

function firstWaveAt(app, row, time) {
  const { begin, ns } = app.recording.waves;
  let [low, high] = [0, row.waves.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (begin[row.waves[middle]] + ns[row.waves[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Put the visible slices and marks of a row into strips, boxes and marks. */
function collectRow(app, frame, row) {
  const { view, recording } = app;
  const { tracks, waves } = recording;
  const strips = row.shape.lines.map(() => null);
  const y = screenY(view, row.y);
  let from = row.waves.length > 1 ? Math.max(0, firstWaveAt(app, row, view.t0) - 1) : 0;
  for (; from < row.waves.length; from++) {
    const wave = row.waves[from];
    if (waves.begin[wave] > view.t1) break;
    for (let t = tracks.first[wave]; t < tracks.first[wave + 1]; t++) {
      const number = row.shape.lineOf.get(tracks.lane[t] * 65536 + tracks.depth[t]);
      if (number === undefined) continue;
      const line = row.shape.lines[number];
      const place = { y: y + line.y, height: line.height };
      strips[number] = collectTrack(app, frame, wave, t, place, strips[number]);
    }
    if (row.shape.marks) collectMarks(app, frame, wave, y + row.shape.title);
    // Where many waves share a pixel, the first one stands for them.
    const next = view.t0 + (Math.floor((waves.begin[wave] - view.t0) / frame.perPixel) + 1) * frame.perPixel;
    if (waves.begin[wave] + waves.ns[wave] < next && row.waves.length > 1) {
      from = Math.max(from, firstWaveAt(app, row, next) - 1);
    }
  }
}

/** Return the strip of this line, made when it is first needed. */
function collectTrack(app, frame, wave, track, place, strip) {
  const { view, recording, palette, search } = app;
  const { begin, ns, event } = recording.slices;
  const { order } = recording.tracks;
  const stop = recording.tracks.stop[track];
  const origin = view.t0 - recording.waves.begin[wave];
  const { perPixel, pixels } = frame;
  const hits = search.hits;
  const wide = WIDE * view.ratio;
  const start = recording.tracks.start[track];
  let i = Math.max(start, firstAt(begin, order, start, stop, origin) - 1);
  while (i < stop) {
    let row = order[i];
    const from = (begin[row] - origin) / perPixel;
    const to = from + ns[row] / perPixel;
    if (from >= pixels) break;
    if (to <= 0 && from < 0) { i++; continue; }
    if (to - from >= wide) {
      frame.boxes.push({ row, from: from / view.ratio, to: to / view.ratio, place });
      i++;
      continue;
    }
    const first = Math.max(0, Math.floor(from));
    const last = Math.min(pixels, Math.max(first + 1, Math.round(to)));
    const behind = firstAt(begin, order, i + 1, stop, origin + last * perPixel);
    if (hits) row = hitAmong(order, i, behind, event, hits);
    if (!strip) frame.strips.push(strip = { place, pixels: new Uint32Array(pixels) });
    const isFaded = hits && !hits[event[row]];
    strip.pixels.fill((isFaded ? palette.fadedPixel : palette.pixel)[event[row]], first, last);
    if (last - first >= 3 && !isFaded) strip.pixels[first] = palette.edgePixel[event[row]];
    // The last one that begins in these pixels may reach beyond them.
    const after = behind - 1;
    i = after > i && begin[order[after]] + ns[order[after]] > origin + last * perPixel ? after : behind;
  }
  return strip;
}

function hitAmong(order, first, stop, event, hits) {
  for (let i = first; i < stop && i < first + HIT_LOOK; i++) if (hits[event[order[i]]]) return order[i];
  return order[first];
}

/** The first index in [low, high) whose slice begins at or after `time`; looks near `low` first. */
function firstAt(begin, order, low, high, time) {
  let step = 1;
  let stop = low;
  while (stop < high && begin[order[stop]] < time) {
    low = stop + 1;
    stop += step;
    step *= 2;
  }
  stop = Math.min(stop, high);
  while (low < stop) {
    const middle = (low + stop) >>> 1;
    if (begin[order[middle]] < time) low = middle + 1;
    else stop = middle;
  }
  return low;
}

function collectMarks(app, frame, wave, y) {
  const { view, recording, search } = app;
  const { begin, event } = recording.instants;
  const first = recording.waves.firstInstant[wave];
  const stop = first + recording.waves.instants[wave];
  const origin = recording.waves.begin[wave];
  const margin = 6 * view.perPixel;
  let i = firstInstantAt(begin, first, stop, view.t0 - origin - margin);
  while (i < stop) {
    const x = view.x(origin + begin[i]);
    if (x > view.width + 6) break;
    const behind = firstInstantAt(begin, i + 1, stop, view.time(x + 2) - origin);
    let mark = i;
    if (search.hits) for (let k = i; k < behind; k++) if (search.hits[event[k]]) { mark = k; break; }
    frame.marks.push({ mark, x, y });
    i = behind;
  }
}

function firstInstantAt(begin, low, high, time) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (begin[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function paintStrips({ view }, { context, strips, pixels }) {
  if (!strips.length) return;
  const sheet = view.sheet(pixels, strips.length);
  const image = sheet.context.createImageData(pixels, strips.length);
  const all = new Uint32Array(image.data.buffer);
  strips.forEach((strip, i) => all.set(strip.pixels, i * pixels));
  sheet.context.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  strips.forEach(({ place }, i) => {
    context.drawImage(sheet.canvas, 0, i, pixels, 1, view.gutter, place.y, view.plotWidth, place.height);
  });
}

function paintBoxes(app, { context, boxes }) {
  const { view, recording, palette, search } = app;
  const { event, flags, ns } = recording.slices;
  const right = view.gutter + view.plotWidth;
  for (const { row, from, to, place } of boxes) {
    const left = view.gutter + Math.max(-2, from);
    const width = Math.min(right + 2, view.gutter + to) - left;
    const isFaded = search.hits && !search.hits[event[row]];
    context.fillStyle = (isFaded ? palette.faded : palette.fill)[event[row]];
    context.fillRect(left, place.y, width, place.height);
    if (!isFaded) {
      context.fillStyle = palette.edge[event[row]];
      context.fillRect(left, place.y, 1, place.height);
    }
    if (flags[row]) paintTorn(context, left + width, place, palette.edge[event[row]]);
    if (search.hits && !isFaded) outline(context, left, place, width, app.colours.ink, 1);
    if (width < LABELLED || place.height < 10) continue;
    context.fillStyle = isFaded ? palette.fadedInk : palette.ink;
    const x = Math.max(left, view.gutter) + 4;
    const name = recording.events[event[row]].name;
    const room = left + width - x - 3;
    const used = paintText(app, context, name, x, place.y + place.height / 2 + 0.5, room);
    if (used && room - used > 62) {
      const atLeast = flags[row] & (UNCLOSED | RUNNING) ? "≥ " : "";
      context.globalAlpha = 0.8;
      paintText(app, context, atLeast + roughTime(ns[row]), x + used + 8, place.y + place.height / 2 + 0.5, room - used - 8);
      context.globalAlpha = 1;
    }
  }
}

/** A jagged end: this is not where the range really ended. */
function paintTorn(context, x, { y, height }, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let i = 0; i <= 6; i++) context.lineTo(x - (i % 2 ? 5 : 1), y + (height * i) / 6);
  context.stroke();
}

function outline(context, x, { y, height }, width, colour, thickness) {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(x + thickness / 2, y + thickness / 2, Math.max(1, width - thickness), height - thickness);
}

/** Write as much of a text as fits; return its width, 0 if nothing was written. */
function paintText(app, context, text, x, y, room) {
  const width = app.view.textWidth(text);
  if (width <= room) {
    context.fillText(text, x, y);
    return width;
  }
  const letters = Math.floor((room / width) * text.length) - 1;
  if (letters < 2) return 0;
  context.fillText(`${text.slice(0, letters)}…`, x, y);
  return room;
}

function paintMarks(app, { context, marks }) {
  const { recording, search, colours, view } = app;
  const { event } = recording.instants;
  for (let i = 0; i < marks.length; i++) {
    const { mark, x, y } = marks[i];
    const isFaded = search.hits && !search.hits[event[mark]];
    const next = i + 1 < marks.length && marks[i + 1].y === y ? marks[i + 1].x : view.width;
    const last = i && marks[i - 1].y === y ? marks[i - 1].x : -view.width;
    context.globalAlpha = isFaded ? 0.3 : 1;
    context.fillStyle = colours.mark;
    if (next - x < 8 || x - last < 8) {
      context.fillRect(x - 0.5, y + 4, 1, MARKS - 5);
      continue;
    }
    context.beginPath();
    context.moveTo(x - 4, y + 2);
    context.lineTo(x + 4, y + 2);
    context.lineTo(x, y + MARKS);
    context.fill();
    if (next - x > 40) {
      context.fillStyle = colours.muted;
      paintText(app, context, recording.events[event[mark]].name, x + 6, y + MARKS / 2 + 1, next - x - 14);
    }
  }
  context.globalAlpha = 1;
}
