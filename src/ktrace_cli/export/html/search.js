// Finds ranges and marks by name, in what is shown, in order of time.

/** Which events match: a part of the name in any case, or "the whole name" in quotes. */
function matchingEvents(events, text) {
  const whole = /^"(.*)"$/s.exec(text);
  const wanted = text.toLowerCase();
  const matches = whole ? (name) => name === whole[1] : (name) => name.toLowerCase().includes(wanted);
  return Uint8Array.from(events, ({ name }) => (matches(name) ? 1 : 0));
}

function countHits(recording, hits, shownWaves) {
  const { waves, slices, instants } = recording;
  let count = 0;
  for (const wave of shownWaves) {
    const [first, mark] = [waves.firstSlice[wave], waves.firstInstant[wave]];
    for (let row = first; row < first + waves.slices[wave]; row++) count += hits[slices.event[row]];
    for (let row = mark; row < mark + waves.instants[wave]; row++) count += hits[instants.event[row]];
  }
  return count;
}

/** Visit hits with their time and a number that orders those of equal time. */
function eachHit(recording, hits, shownWaves, visit) {
  const { waves, slices, instants } = recording;
  for (const wave of shownWaves) {
    const [first, mark, origin] = [waves.firstSlice[wave], waves.firstInstant[wave], waves.begin[wave]];
    for (let row = first; row < first + waves.slices[wave]; row++) {
      if (hits[slices.event[row]]) visit(origin + slices.begin[row], row);
    }
    for (let row = mark; row < mark + waves.instants[wave]; row++) {
      if (hits[instants.event[row]]) visit(origin + instants.begin[row], recording.tables.slices + row);
    }
  }
}

/** The hit after (direction 1) or before (-1) a place {time, number}, round at the end. */
function findHit(recording, hits, shownWaves, place, direction) {
  let [next, edge, before] = [null, null, 0];
  const isBefore = (time, number, other) => time < other.time || (time === other.time && number < other.number);
  const better = (time, number, best) => !best || isBefore(time, number, best) === (direction > 0);
  eachHit(recording, hits, shownWaves, (time, number) => {
    const isSame = time === place.time && number === place.number;
    const lies = !isSame && isBefore(time, number, place) === (direction < 0);
    if (lies && better(time, number, next)) next = { time, number };
    if (better(time, number, edge)) edge = { time, number };
  });
  const hit = next || edge;
  if (!hit) return null;
  eachHit(recording, hits, shownWaves, (time, number) => {
    if (isBefore(time, number, hit)) before++;
  });
  const isMark = hit.number >= recording.tables.slices;
  return {
    ...hit, index: before + 1, kind: isMark ? "mark" : "slice",
    row: isMark ? hit.number - recording.tables.slices : hit.number,
  };
}
