// Numbers, times, payloads and flags in words. Knows no canvas.
"use strict";

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const TIME_UNITS = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];

/** What times of the page count: "ns" or "cycles". */
let timeUnit = "ns";

const SLICE_FLAGS = [
  [1, "unclosed", "no end was recorded: shown up to its wave's last record"],
  [2, "truncated", "its wave's region was full: the end may be among the words that did not fit"],
  [4, "clamped", "it began before its wave or ended before its begin: repaired"],
  [8, "long gap", "its length is known up to a multiple of 2³² cycles only"],
  [16, "running", "its dispatch was still running: shown up to the last known time"],
];

const UNCLOSED = 1;
const RUNNING = 16;
const ENDLESS = 2 | RUNNING; // nobody knows how long it is: in no number of its phase

const WAVE_FLAGS = [
  [1, "unfinished", "it never wrote its end"],
  [4, "dropped", "its region was full"],
  [8, "partial", "it began with inactive lanes"],
  [16, "clamped", "its end was before its begin or its last word: repaired"],
  [32, "moved", "it ended on other hardware than it began on: its clock may have changed"],
  [64, "left early", "lanes that were active at its begin were not at its end"],
  [128, "overwritten", "its region kept its last words: those before them are gone"],
];

function grouped(number) {
  return GROUPED.format(number || 0); // no "-0"
}

function counted(number, one, many) {
  return `${grouped(number)} ${number === 1 ? one : many || one + "s"}`;
}

/** Cut a text in its middle; kernels can have names of thousands of characters. */
function shortened(text, most) {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 3);
  return `${text.slice(0, most - 1 - end)}…${text.slice(text.length - end)}`;
}

/** Three significant digits and a unit: 1.23 µs. */
function roughTime(time) {
  if (timeUnit !== "ns") return `${grouped(Math.round(time))} ${timeUnit}`;
  const size = Math.abs(time);
  const [unit, scale] = TIME_UNITS.find(([, s]) => size < s * 999.5) || TIME_UNITS[3];
  const value = time / scale;
  const digits = Number.isInteger(value) && Math.abs(value) < 1000 ? 0
    : Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

/** Every digit: 1,234,567 ns. */
function exactTime(time) {
  return `${grouped(time)} ${timeUnit}`;
}

function bothTimes(time) {
  const rough = roughTime(time);
  const exact = exactTime(time);
  return rough === exact ? exact : `${exact} (${rough})`;
}

/** A time and its cycles, if these are not the same thing. */
function timeAndCycles(text, cycles) {
  return timeUnit === "ns" ? `${text} · ${counted(cycles, "cycle")}` : text;
}

/** How long a range is. One that was running has read no clock since: it has no cycles to tell. */
function lengthText(ns, ticks, flags) {
  if (flags & RUNNING) return `at least ${bothTimes(ns)} (unfinished)`;
  const text = timeAndCycles(bothTimes(ns), ticks);
  return flags & UNCLOSED ? `at least ${text} (no end)` : text;
}

/** A label of the ruler, with the digits that tell it from its neighbours, which are a step away. */
function axisTime(time, step, largest) {
  if (timeUnit !== "ns") return `${grouped(time)} ${timeUnit}`;
  const [unit, scale] = TIME_UNITS.find(([, s]) => largest < s * 1000) || TIME_UNITS[3];
  const digits = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  return `${(time / scale).toFixed(digits)} ${unit}`;
}

function flagsInWords(flags, table) {
  return table.filter(([bit]) => flags & bit).map(([, name, why]) => `${name}: ${why}`);
}

/** A payload as `decode -f text` writes it, but for exponents. */
function valueText(type, low, high) {
  if (type === "bool") return low || high ? "true" : "false";
  if (type === "i32") return String(low | 0);
  if (type === "f32") return shortestFloat(low);
  const bits = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
  if (type === "i64") return String(BigInt.asIntN(64, bits));
  if (type === "f64") {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, bits);
    return floatText(view.getFloat64(0));
  }
  return String(bits);
}

function shortestFloat(bits) {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, bits);
  const single = view.getFloat32(0);
  for (let digits = 1; digits <= 9; digits++) {
    const text = single.toPrecision(digits);
    if (Math.fround(Number(text)) === single) return floatText(Number(text));
  }
  return floatText(single);
}

function floatText(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) && Math.abs(value) < 1e16 ? `${value}.0` : String(value);
}
