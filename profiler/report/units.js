// Numbers for people: one unit a column, digits that line up.
const kTimes = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const kMinus = "−";
const signed = (text, value) => (value < 0 ? kMinus : "+") + text;

/** The unit in which `largest` seconds has one to three digits before the point. */
function timeUnit(largest) {
  const [size, name] = kTimes.find(([unit]) => Math.abs(largest) >= unit) || kTimes[kTimes.length - 1];
  const digits = Math.abs(largest) / size >= 100 ? 1 : Math.abs(largest) / size >= 10 ? 2 : 3;
  const text = (value) => value === null || value === undefined ? "–" : (value < 0 ? kMinus : "") + Math.abs(value / size).toFixed(digits);
  const tick = (value) => value === 0 ? "0" : Number((value / size).toPrecision(6)).toLocaleString("en") + " " + name;
  return {name, text, tick, change: (value) => signed(Math.abs(value / size).toFixed(digits), value)};
}
function seconds(value) {
  if (value === 0) return "0 s";
  const [size, name] = kTimes.find(([unit]) => Math.abs(value) >= unit) || kTimes[kTimes.length - 1];
  return (value < 0 ? kMinus : "") + Math.abs(value / size).toPrecision(Math.abs(value / size) >= 1000 ? 4 : 3) + " " + name;
}
/** A point in time with six digits, since tasks are short compared with the step. */
function instant(value) {
  if (value === 0) return "0 s";
  const [size, name] = kTimes.find(([unit]) => Math.abs(value) >= unit) || kTimes[kTimes.length - 1];
  return (value < 0 ? kMinus : "") + Number(Math.abs(value / size).toPrecision(6)) + " " + name;
}
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) { value /= 1024; ++unit; }
  return (unit === 0 ? String(Math.round(value)) : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)) + " " + units[unit];
}
function rate(perSecond) {
  const units = [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"]];
  const [size, name] = units.find(([unit]) => perSecond >= unit) || [1, "B/s"];
  return (perSecond / size).toPrecision(3) + " " + name;
}
const count = (value) => Math.round(value).toLocaleString("en");
/** A relative difference, such as "+4.9 %"; for large ones a factor, such as "× 21". */
const percent = (ratio) => ratio > 9.995 ? "× " + count(1 + ratio) : signed(Math.abs(ratio * 100).toFixed(1) + " %", ratio);
const share = (ratio) => (100 * ratio).toFixed(1) + " %";
const words = (name) => name.replace(/_/g, " ");

/** Round values between `low` and `high`, about `most` of them. */
function ticks(low, high, most) {
  const raw = (high - low) / most || 1;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999);
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) list.push(i * step || 0);
  return list;
}

