// Blocks of columns: the other side of export/html/columns.py.

const PLANES = 0x0f;
const ZIGZAG = 0x80;

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The columns of a block by name, each as the narrowest typed array that holds it; *_bits as halves. */
function readBlock(bytes, names) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const count = view.getUint32(0, true);
  if (count !== names.length) throw new Error(`a block has ${count} columns, not ${names.length}`);
  const columns = {};
  let at = 4 + 8 * count;
  names.forEach((name, i) => {
    const rows = view.getUint32(4 + 8 * i, true);
    const mode = view.getUint32(8 + 8 * i, true);
    columns[name] = name.endsWith("_bits") ? halves(bytes, at, rows, mode & PLANES)
      : readColumn(bytes, at, rows, mode);
    at += rows * (mode & PLANES);
  });
  if (at !== bytes.length) throw new Error(`a block has ${bytes.length} bytes, not ${at}`);
  return columns;
}

function readColumn(bytes, at, rows, mode) {
  const planes = mode & PLANES;
  if (mode & ZIGZAG) return zigzagColumn(bytes, at, rows, planes);
  if (planes === 0) return new Uint8Array(rows);
  if (planes === 1) return bytes.subarray(at, at + rows);
  if (planes === 2) {
    const wide = new Uint16Array(rows);
    for (let i = 0; i < rows; i++) wide[i] = bytes[at + i] | (bytes[at + rows + i] << 8);
    return wide;
  }
  return planes <= 4 ? joined(new Uint32Array(rows), bytes, at, rows, planes)
    : joined(new Float64Array(rows), bytes, at, rows, planes);
}

function joined(wide, bytes, at, rows, planes) {
  for (let plane = 0, scale = 1; plane < planes; plane++, scale *= 256) {
    const from = at + plane * rows;
    for (let i = 0; i < rows; i++) wide[i] += bytes[from + i] * scale;
  }
  return wide;
}

function zigzagColumn(bytes, at, rows, planes) {
  if (planes > 4) {
    const wide = joined(new Float64Array(rows), bytes, at, rows, planes);
    for (let i = 0; i < rows; i++) {
      wide[i] = wide[i] % 2 ? -(wide[i] + 1) / 2 : wide[i] / 2;
    }
    return wide;
  }
  const raw = joined(new Uint32Array(rows), bytes, at, rows, planes);
  const signed = new Int32Array(raw.buffer);
  for (let i = 0; i < rows; i++) signed[i] = (raw[i] >>> 1) ^ -(raw[i] & 1);
  return signed;
}

/** The 64 bits of each row, as two halves. */
function halves(bytes, at, rows, planes) {
  return [
    joined(new Uint32Array(rows), bytes, at, rows, Math.min(planes, 4)),
    joined(new Uint32Array(rows), bytes, at + 4 * rows, rows, Math.max(planes - 4, 0)),
  ];
}

const WIDTHS = [Uint8Array, Uint16Array, Uint32Array, Float64Array];

/** A column of all blocks, that gets wider when a block needs it. */
class Store {
  constructor(rows) {
    this.width = 0;
    this.array = new Uint8Array(rows);
  }

  put(offset, source) {
    const width = widthOf(source);
    if (width > this.width) {
      this.width = width;
      this.array = WIDTHS[width].from(this.array);
    }
    this.array.set(source, offset);
  }
}

function widthOf(source) {
  const width = WIDTHS.indexOf(source.constructor);
  if (width >= 0 && width < 3) return width;
  let least = 0;
  let most = 0;
  for (let i = 0; i < source.length; i++) {
    if (source[i] < least) least = source[i];
    if (source[i] > most) most = source[i];
  }
  if (least < 0 || most > 0xffffffff) return 3;
  return most > 0xffff ? 2 : most > 0xff ? 1 : 0;
}
