// Memory over the step, a chart a tier; and what was reserved and used.
const kPartColors = ["--blue", "--green", "--orange", "--sky", "--vermilion", "--pink", "--yellow", "--purple", "--wine", "--slate"];
/** Colour of a part, the same in every tier. */
const partColors = new Map();
function partColor(part) {
  if (!partColors.has(part)) partColors.set(part, kPartColors[partColors.size % kPartColors.length]);
  return `var(${partColors.get(part)})`;
}
function drawMemory() {
  const tiers = (data.memory || []).filter((tier) => tier.predicted_bytes > 0);
  if (!tiers.length) return;
  const part = section("memory", "Memory over the step",
    "Bytes in use from one step's gradients to the next one's. Every address is fixed before the first task, so an arena is as large as the fullest instant asks, and a little more where gaps stay.");
  const names = tiers.flatMap((tier) => tier.curves.map((curve) => curve.name));
  const charts = [];
  if (names.includes("measured") && names.includes("predicted")) {
    choice(element(part, "div", {class: "controls"}), "Memory shown", [["measured", "Measured"], ["predicted", "Predicted"]], "measured",
      (name) => charts.forEach((chart) => chart(name)));
  }
  const grid = element(part, "div", {class: "pair"});
  for (const tier of tiers.filter((each) => each.curves.length)) {
    const box = panel(grid, "memory-" + tier.tier);
    element(box, "h3", {}, tier.tier === "hbm" ? "Device memory (hbm): the arena" : tier.tier === "host" ? "Host memory: the arena" : words(tier.tier));
    const place = element(box, "div");
    const chart = (name) => { place.textContent = ""; memoryChart(place, tier, name); };
    charts.push(chart);
    chart(tier.curves.some((curve) => curve.name === "measured") ? "measured" : "predicted");
  }
  memoryTable(panel(part), tiers);
}

function memoryChart(place, tier, name) {
  const curve = tier.curves.find((each) => each.name === name) || tier.curves[0];
  const kWidth = 540, kHeight = 230, kLeft = 64, kRight = 10, kTop = 10, kBottom = 26;
  const end = Math.max(1e-9, ...data.timeline.rows.map((row) => row.period_s));
  const mine = (data.timeline.rows.find((row) => row.name === curve.name) || {period_s: end}).period_s;
  const totals = curve.at_s.map((at, i) => curve.bytes.reduce((sum, part) => sum + part[i], 0));
  const high = 1.08 * Math.max(tier.arena_bytes, ...totals, 1);
  const toX = (at) => kLeft + at / end * (kWidth - kLeft - kRight), toY = (value) => kTop + (1 - value / high) * (kHeight - kTop - kBottom);
  const peak = Math.max(...totals);
  const svg = shape(place, "svg", {viewBox: `0 0 ${kWidth} ${kHeight}`, role: "img",
    "aria-label": `${tier.tier}, ${curve.name}: at most ${bytes(peak)} in use of ${bytes(tier.arena_bytes)} reserved`});
  const power = Math.pow(1024, Math.floor(Math.log(high) / Math.log(1024)));
  for (const value of ticks(0, high / power, 4)) {
    shape(svg, "line", {x1: kLeft, x2: kWidth - kRight, y1: toY(value * power), y2: toY(value * power), class: "grid"});
    shape(svg, "text", {x: kLeft - 6, y: toY(value * power) + 4, "text-anchor": "end"}, value === 0 ? "0" : bytes(value * power).replace(/\.?0+ /, " "));
  }
  for (const at of ticks(0, end, 4)) shape(svg, "text", {x: toX(at), y: kHeight - 8, "text-anchor": "middle"}, timeUnit(end).tick(at));
  const below = curve.at_s.map(() => 0);
  curve.parts.forEach((part, index) => {
    const upper = [], lower = [];
    curve.at_s.forEach((at, i) => {
      const to = i + 1 < curve.at_s.length ? curve.at_s[i + 1] : mine, top = below[i] + curve.bytes[index][i];
      upper.push(`${toX(at).toFixed(1)} ${toY(top).toFixed(1)} ${toX(to).toFixed(1)} ${toY(top).toFixed(1)}`);
      lower.unshift(`${toX(to).toFixed(1)} ${toY(below[i]).toFixed(1)} ${toX(at).toFixed(1)} ${toY(below[i]).toFixed(1)}`);
      below[i] = top;
    });
    shape(svg, "path", {d: "M" + upper.join("L") + "L" + lower.join("L") + "Z", style: "fill: " + partColor(part)});
  });
  shape(svg, "line", {x1: kLeft, x2: kWidth - kRight, y1: toY(tier.arena_bytes), y2: toY(tier.arena_bytes), class: "level"});
  shape(svg, "text", {x: kWidth - kRight, y: toY(tier.arena_bytes) - 5, "text-anchor": "end", class: "strong"}, `reserved ${bytes(tier.arena_bytes)}`);
  const cursor = shape(svg, "line", {y1: kTop, y2: kHeight - kBottom, class: "cursor", visibility: "hidden"});
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = Math.max(0, Math.min(mine, ((event.clientX - box.left) / box.width * kWidth - kLeft) / (kWidth - kLeft - kRight) * end));
    let i = curve.at_s.length - 1;
    while (i > 0 && curve.at_s[i] > at) --i;
    cursor.setAttribute("x1", toX(at));
    cursor.setAttribute("x2", toX(at));
    cursor.setAttribute("visibility", "visible");
    showTip(event, [`${curve.name}, ${seconds(at)}: ${bytes(totals[i])} in use`].concat(
      curve.parts.map((part, index) => [part, curve.bytes[index][i]]).filter(([, value]) => value > 0).reverse().map(([part, value]) => `${part} ${bytes(value)}`)));
  });
  svg.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); hideTip(); });
  legend(place, curve.parts.map((part) => [part, partColors.get(part)]));
}

function memoryTable(box, tiers) {
  element(box, "h3", {}, "Peaks by tier");
  const rows = tiers.flatMap((tier) => [{name: tier.tier === "hbm" ? "device (hbm)" : tier.tier, strong: true, predicted: tier.predicted_bytes,
    measured: tier.measured_bytes, capacity: tier.capacity_bytes}].concat(
    [...tier.parts].sort((a, b) => b.bytes - a.bytes).map((part) => ({name: "\u2003" + part.name, predicted: part.bytes, measured: null, capacity: null}))));
  table(box, [
    {name: "tier and part", text: (row) => row.name, left: true},
    {name: "predicted", text: (row) => bytes(row.predicted)},
    ...(rows.some((row) => row.measured) ? [{name: "measured", text: (row) => row.measured === null ? "" : bytes(row.measured)}] : []),
    {name: "of what there is", text: (row) => row.capacity ? bytes(row.capacity) : ""},
    {name: "taken", text: (row) => row.capacity ? share((row.measured || row.predicted) / row.capacity) : ""},
  ], rows, "Memory by tier and part");
}

