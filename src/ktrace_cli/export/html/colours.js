// Colours of names: the same name has the same colour in every page that has the same names, and
// nearly always in others. They are never the only sign: names stand in slices, tips and tables.

const HUES = 12;
const SHADES = { light: [[0.82, 0.1], [0.72, 0.12]], dark: [[0.42, 0.09], [0.52, 0.1]] };

/** A place on the colour wheel for each name; names that hash to a taken place get the next free one. */
function placeNames(names) {
  const places = new Map();
  const taken = new Set();
  for (const name of [...new Set(names)].sort()) {
    if (taken.size === 2 * HUES) taken.clear();
    let place = hashOf(name) % (2 * HUES);
    while (taken.has(place)) place = (place + 5) % (2 * HUES);
    taken.add(place);
    places.set(name, place);
  }
  return places;
}

function hashOf(name) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193) >>> 0;
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Colours for the theme: per event as CSS text and as a pixel, each also faded into the background. */
function makePalette(events, dark) {
  const places = placeNames(events.map((event) => event.name));
  const back = dark ? [20, 23, 27] : [255, 255, 255];
  const shades = SHADES[dark ? "dark" : "light"];
  const colours = events.map((event) => {
    const place = places.get(event.name);
    const [lightness, chroma] = shades[Math.floor(place / HUES)];
    return toRgb(lightness, chroma, (place % HUES) * (2 * Math.PI / HUES) + 0.35);
  });
  const faded = colours.map((rgb) => mix(rgb, back, 0.78));
  const edges = colours.map((rgb) => mix(rgb, dark ? [0, 0, 0] : [60, 60, 70], 0.45));
  return {
    fill: colours.map(cssOf), faded: faded.map(cssOf), edge: edges.map(cssOf),
    pixel: Uint32Array.from(colours, pixelOf), fadedPixel: Uint32Array.from(faded, pixelOf),
    edgePixel: Uint32Array.from(edges, pixelOf),
    ink: dark ? "#f4f6f8" : "#14181d", fadedInk: dark ? "#77808a" : "#8b949e",
  };
}

/** OKLCH to sRGB: equal lightness looks equally light in every hue. */
function toRgb(lightness, chroma, hue) {
  const a = chroma * Math.cos(hue);
  const b = chroma * Math.sin(hue);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((linear) => {
    const value = Math.min(1, Math.max(0, linear));
    return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
  });
}

function mix(rgb, other, share) {
  return rgb.map((value, i) => Math.round(value * (1 - share) + other[i] * share));
}

function cssOf([r, g, b]) {
  return `rgb(${r}, ${g}, ${b})`;
}

function pixelOf([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
