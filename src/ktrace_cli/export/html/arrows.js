// Arrows between ranges, as long as there are few enough to tell them apart.

const MOST_ARROWS = 600;

function paintArrows(app, frame) {
  const { recording, view, list, colours } = app;
  const { from, to } = recording.arrows;
  const rows = new Set();
  const visible = new Set(frame.shown.map((row) => row.index));
  for (const row of frame.shown) {
    if (!row.shape || row.height <= COMPACT) continue;
    for (const wave of row.waves) {
      for (const ends of [from, to]) {
        for (let i = ends.first[wave]; i < ends.first[wave + 1] && rows.size <= MOST_ARROWS; i++) {
          if (arrowIsInView(app, ends.rows[i], visible)) rows.add(ends.rows[i]);
        }
      }
    }
  }
  frame.tooMany = rows.size > MOST_ARROWS;
  const { source, destination } = recording.flows;
  const chosen = app.chosen.kind === "slice" ? app.chosen.row : -1;
  for (const row of rows) {
    const isOwn = source[row] === chosen || destination[row] === chosen;
    if (frame.tooMany && !isOwn) continue;
    const ends = [source[row], destination[row]].map((slice) => arrowEnd(app, slice));
    frame.context.globalAlpha = isOwn ? 1 : 0.5;
    paintArrow(frame.context, view, ends, isOwn ? colours.accent : colours.arrow, isOwn ? 2 : 1);
  }
  frame.context.globalAlpha = 1;
  view.note = frame.tooMany ? `more than ${MOST_ARROWS} arrows in view: zoom in, or click a range to see its own` : "";
}

function arrowIsInView({ recording, view, list }, row, visible) {
  const { source, destination } = recording.flows;
  const { from, to } = recording.arrows;
  const [a, b] = [from.owner[row], to.owner[row]];
  const rows = [list.rowOfWave[a], list.rowOfWave[b]];
  if (rows[0] < 0 || rows[1] < 0 || !(visible.has(rows[0]) || visible.has(rows[1]))) return false;
  const { begin, ns } = recording.slices;
  const start = recording.waves.begin[a] + begin[source[row]] + ns[source[row]];
  const end = recording.waves.begin[b] + begin[destination[row]];
  return Math.max(start, end) >= view.t0 && Math.min(start, end) <= view.t1;
}

function arrowEnd({ recording, view, list }, slice) {
  const wave = waveOfSlice(recording, slice);
  const row = list.rows[list.rowOfWave[wave]];
  const line = lineOfSlice(recording, row.shape, slice);
  const begin = recording.waves.begin[wave] + recording.slices.begin[slice];
  return { begin, end: begin + recording.slices.ns[slice], y: screenY(view, row.y) + line.y + line.height / 2 };
}

function paintArrow(context, view, [source, destination], colour, thickness) {
  // From a range that has not ended when the other begins, the arrow leads straight down.
  const leave = Math.max(source.begin, Math.min(source.end, destination.begin));
  const [x0, x1] = [view.x(leave), view.x(destination.begin)];
  const bend = Math.min(60, Math.max(14, Math.abs(x1 - x0) / 2));
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = thickness;
  context.save();
  context.beginPath();
  context.rect(view.gutter, view.ruler, view.plotWidth, view.plotHeight);
  context.clip();
  context.beginPath();
  context.moveTo(x0, source.y);
  context.bezierCurveTo(x0 + bend, source.y, x1 - bend, destination.y, x1 - 3, destination.y);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, destination.y);
  context.lineTo(x1 - 6, destination.y - 3.5);
  context.lineTo(x1 - 6, destination.y + 3.5);
  context.fill();
  context.restore();
}
