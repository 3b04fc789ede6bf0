// Colours of names: the same name has the same colour in every page that has the same names, and
// often in others. They are never the only sign: names stand in slices, tips and tables.

const HUES = 12;
const SHADES = { light: [[0.86, 0.1], [0.7, 0.13]], dark: [[0.4, 0.09], [0.55, 0.12]] };
const APART = { most: 0.2, step: 0.02 };
const SHADE = 0.35; // what lightness counts: two shades of one hue are hard to tell apart in a picture

/**
 * A place on the colour wheel for each name: the one that it hashes to, unless that looks like the
 * place of another name; then one that does not. Names that come first in the alphabet choose first.
 */
function placeNames(names) {
  const places = new Map();
  const looks = Array.from({ length: 2 * HUES }, (_, place) => {
    const [lightness, a, b] = labOf("light", place);
    return [SHADE * lightness, a, b];
  });
  let taken = [];
  for (const name of [...new Set(names)].sort()) {
    if (taken.length === looks.length) taken = [];
    const place = freePlace(hashOf(name) % looks.length, looks, taken);
    taken.push(place);
    places.set(name, place);
  }
  return places;
}

function freePlace(first, looks, taken) {
  for (let apart = APART.most; ; apart -= APART.step) {
    for (let i = 0, place = first; i < looks.length; i++, place = (place + 5) % looks.length) {
      const isFree = taken.every((other) => other !== place
        && Math.hypot(...looks[place].map((value, axis) => value - looks[other][axis])) >= apart);
      if (isFree) return place;
    }
  }
}

/** OKLab of a place: distances there are how different colours look. */
function labOf(scheme, place) {
  const [lightness, chroma] = SHADES[scheme][Math.floor(place / HUES)];
  const hue = (place % HUES) * (2 * Math.PI / HUES) + 0.35;
  return [lightness, chroma * Math.cos(hue), chroma * Math.sin(hue)];
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
  const colours = events.map((event) => toRgb(labOf(dark ? "dark" : "light", places.get(event.name))));
  const faded = colours.map((rgb) => mix(rgb, back, 0.78));
  const edges = colours.map((rgb) => mix(rgb, dark ? [0, 0, 0] : [60, 60, 70], 0.45));
  return {
    fill: colours.map(cssOf), faded: faded.map(cssOf), edge: edges.map(cssOf),
    pixel: Uint32Array.from(colours, pixelOf), fadedPixel: Uint32Array.from(faded, pixelOf),
    edgePixel: Uint32Array.from(edges, pixelOf),
    ink: dark ? "#f4f6f8" : "#14181d", fadedInk: dark ? "#77808a" : "#8b949e",
  };
}

/** OKLab to sRGB: equal lightness looks equally light in every hue. */
function toRgb([lightness, a, b]) {
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
