// What lies over the picture: the pointer's line, the selected time, outlines; and what is at a point.

/** The pointer's line, the selected time, and outlines of what is under the pointer or was clicked. */
function paintOverlay(app) {
  const { view, colours, range, pointer } = app;
  const context = view.overlay.getContext("2d");
  context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  context.font = view.font;
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(view.gutter, 0, view.plotWidth, view.height);
  context.clip();
  if (range) paintRange(app, context);
  if (app.chosen.kind === "slice") outlineSlice(app, context, app.chosen.row, colours.accent, 2);
  if (app.chosen.kind === "mark") outlineMark(app, context, app.chosen.row, colours.accent);
  const under = app.under;
  if (under && under.kind === "slice") outlineSlice(app, context, under.row, colours.ink, 1);
  if (pointer && pointer.x >= view.gutter && pointer.x < view.width) {
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.5;
    context.fillRect(Math.round(pointer.x), view.ruler, 1, view.plotHeight);
    context.globalAlpha = 1;
    const text = exactTime(Math.round(view.time(pointer.x)));
    tag(app, context, text, pointer.x, view.ruler - 10);
  }
  context.restore();
}

function paintRange(app, context) {
  const { view, colours, range } = app;
  const [x0, x1] = [clampX(view, range.begin), clampX(view, range.end)];
  context.fillStyle = colours.range;
  context.fillRect(x0, view.ruler, x1 - x0, view.plotHeight);
  context.fillStyle = colours.accent;
  context.fillRect(x0, OVERVIEW, 1, view.height);
  context.fillRect(x1 - 1, OVERVIEW, 1, view.height);
  context.fillRect(x0, view.ruler - 2, x1 - x0, 2);
  tag(app, context, roughTime(Math.round(range.end - range.begin)), (x0 + x1) / 2, view.ruler - 24, true);
}

function tag({ view, colours }, context, text, x, y, isStrong = false) {
  const width = view.textWidth(text) + 10;
  const left = Math.min(view.width - width - 2, Math.max(view.gutter + 2, x - width / 2));
  context.fillStyle = isStrong ? colours.accent : colours.ink;
  context.fillRect(left, y - 8, width, 16);
  context.fillStyle = colours.back;
  context.fillText(text, left + 5, y + 0.5);
}

function outlineSlice(app, context, slice, colour, thickness) {
  const { recording, list, view } = app;
  const wave = waveOfSlice(recording, slice);
  const row = list.rows[list.rowOfWave[wave]];
  if (!row) return;
  const line = lineOfSlice(recording, row.shape, slice) || { y: 0, height: row.height };
  const begin = recording.waves.begin[wave] + recording.slices.begin[slice];
  const [x0, x1] = [clampX(view, begin), clampX(view, begin + recording.slices.ns[slice])];
  const y = screenY(view, row.y) + line.y;
  if (y < view.ruler) return;
  outline(context, x0 - 1, { y: y - 1, height: line.height + 2 }, Math.max(3, x1 - x0 + 2), colour, thickness);
}

function outlineMark({ recording, list, view }, context, mark, colour) {
  const wave = waveOfInstant(recording, mark);
  const row = list.rows[list.rowOfWave[wave]];
  if (!row) return;
  const x = view.x(recording.waves.begin[wave] + recording.instants.begin[mark]);
  const y = screenY(view, row.y) + (row.shape.title || 0);
  if (y < view.ruler) return;
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.strokeRect(x - 6, y, 12, Math.max(6, row.shape.marks) + 1);
}

/** What is at a point: {kind: slice | mark | wave | slot | dispatch | group | role | place, row}. */
function hitTest(app, x, y) {
  const { view, list } = app;
  if (y < view.ruler || x >= view.width) return null;
  const row = list.rows[rowAt(list, y - view.ruler + view.scroll)];
  if (!row) return null;
  const whole = { kind: row.kind, row: row.kind === "wave" ? row.waves[0] : row.index };
  if (!row.shape || x < view.gutter) return whole;
  const inside = y - screenY(view, row.y);
  const margin = 3 * view.perPixel;
  const time = view.time(x);
  const { begin, ns } = app.recording.waves;
  const from = Math.max(0, firstWaveAt(app, row, time - margin));
  for (let i = from; i < row.waves.length && begin[row.waves[i]] <= time + 4 * margin; i++) {
    const found = hitInWave(app, row.shape, row.waves[i], time, inside, margin);
    if (found) return found;
    if (begin[row.waves[i]] <= time && time <= begin[row.waves[i]] + ns[row.waves[i]]) {
      return { kind: "wave", row: row.waves[i] };
    }
  }
  return null;
}

function hitInWave(app, shape, wave, time, inside, margin) {
  const { recording } = app;
  const at = time - recording.waves.begin[wave];
  if (shape.marks && inside >= shape.title && inside < shape.title + shape.marks + 1) {
    const first = recording.waves.firstInstant[wave];
    const mark = nearest(recording.instants.begin, first, first + recording.waves.instants[wave], at, 2 * margin);
    if (mark >= 0) return { kind: "mark", row: mark };
  }
  const { tracks, slices } = recording;
  for (let t = tracks.first[wave]; t < tracks.first[wave + 1]; t++) {
    const line = shape.lines[shape.lineOf.get(tracks.lane[t] * 65536 + tracks.depth[t])];
    if (!line || inside < line.y || inside > line.y + line.height) continue;
    const after = firstAt(slices.begin, tracks.order, tracks.start[t], tracks.stop[t], at + 1e-9);
    let best = -1;
    let distance = margin;
    for (const i of [after - 1, after, after - 2]) {
      if (i < tracks.start[t] || i >= tracks.stop[t]) continue;
      const row = tracks.order[i];
      const away = Math.max(slices.begin[row] - at, at - slices.begin[row] - slices.ns[row], 0);
      if (away < distance) [best, distance] = [row, away];
    }
    if (best >= 0) return { kind: "slice", row: best };
  }
  return null;
}

function nearest(begin, first, stop, time, margin) {
  const after = firstInstantAt(begin, first, stop, time);
  let best = -1;
  for (const i of [after - 1, after]) {
    if (i < first || i >= stop || Math.abs(begin[i] - time) > margin) continue;
    if (best < 0 || Math.abs(begin[i] - time) < Math.abs(begin[best] - time)) best = i;
  }
  return best;
}
