// Sections of an experiment: effects, curves over a factor, where steps go, every measured step.
/** A level such as "8 GiB", "0.5x" or "1024" as a number; null where it is a name. */
function numberOf(level) {
  const found = /^([0-9.]+(?:e[+-]?[0-9]+)?)\s*([KMGT]i?B|[kMGT]B\/s|B|x|k|K)?$/.exec(level.trim());
  if (!found) return null;
  const sizes = {K: 1e3, k: 1e3, M: 1e6, G: 1e9, T: 1e12}, binary = {K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40};
  const unit = found[2] || "";
  return Number(found[1]) * (unit.includes("i") ? binary[unit[0]] : sizes[unit[0]] || 1);
}

/** A factor's first level with which any cell fits; the others are compared with it. */
const baseLevel = (index) => data.experiment.factors[index].levels.find((level) => data.cells.some((cell) => cell.fits && cell.levels[index] === level));
/** The cell that differs from `cell` in factor `index` alone, where it has the level to compare with. */
const baseOf = (cell, index) => data.cells.find((other) => other.levels[index] === baseLevel(index) && other.levels.every((level, i) => i === index || level === cell.levels[i]));

function drawEffects() {
  const factors = data.experiment.factors, rows = [];
  factors.forEach((factor, index) => factor.levels.filter((level) => level !== baseLevel(index)).forEach((level) => {
    const pairs = data.cells.filter((cell) => cell.levels[index] === level).map((cell) => [cell, baseOf(cell, index)]).filter(([cell, base]) => base && cell.fits && base.fits);
    const mean = (speed) => {
      const logs = pairs.filter(([cell, base]) => speed(cell) && speed(base)).map(([cell, base]) => Math.log(speed(cell) / speed(base)));
      return logs.length ? {ratio: Math.exp(logs.reduce((sum, value) => sum + value, 0) / logs.length), low: Math.exp(Math.min(...logs)), high: Math.exp(Math.max(...logs)), pairs: logs.length} : null;
    };
    if (pairs.length) rows.push({factor: factor.name, level, base: baseLevel(index), predicted: mean(speedOf), measured: mean(measuredSpeed)});
  }));
  if (!rows.length) return;
  const device = rows.some((row) => row.measured);
  const part = section("effects", "What each level does by itself",
    "Speed of cells with the level over that of the cells that differ from them in this factor alone and have the level it is compared with: geometric means, and the range over all pairs.");
  const most = Math.max(...rows.flatMap((row) => [row.predicted, row.measured]).filter(Boolean).map((one) => Math.abs(Math.log(one.ratio))), 0.01);
  const columns = [
    {name: "factor", left: true, kind: "name", text: (row) => row.factor},
    {name: "level", left: true, kind: "name", text: (row) => `${row.level} over ${row.base}`},
    {name: "slower | faster", middle: true, bar: (cell, row) => diverging(cell, Math.log((row.measured || row.predicted).ratio) / most)},
    {name: "predicted", text: (row) => row.predicted ? row.predicted.ratio.toFixed(3) : ""},
    {name: "range", text: (row) => row.predicted && row.predicted.pairs > 1 ? `${row.predicted.low.toFixed(3)} to ${row.predicted.high.toFixed(3)}` : ""},
  ];
  if (device) {
    columns.push({name: "measured", text: (row) => row.measured ? row.measured.ratio.toFixed(3) : ""});
    columns.push({name: "range", text: (row) => row.measured && row.measured.pairs > 1 ? `${row.measured.low.toFixed(3)} to ${row.measured.high.toFixed(3)}` : ""});
  }
  columns.push({name: "pairs", text: (row) => count(row.predicted.pairs)});
  table(panel(part), columns, rows, "Effect of each level");
}

const kSeriesColors = ["--blue", "--orange", "--green", "--vermilion", "--purple", "--sky", "--pink", "--wine"];
function drawOverFactor() {
  const factors = data.experiment.factors;
  const index = factors.findIndex((factor) => factor.levels.length > 2 && factor.levels.every((level) => numberOf(level) !== null));
  if (index < 0) return;
  const factor = factors[index], groups = new Map();
  for (const cell of data.cells.filter((each) => each.fits)) {
    const others = cell.levels.map((level, i) => i === index ? null : `${factors[i].name}=${level}`).filter(Boolean).join(", ") || "predicted";
    if (!groups.has(others)) groups.set(others, []);
    groups.get(others).push(cell);
  }
  const shown = [...groups].slice(0, kSeriesColors.length);
  if (!shown.some(([, cells]) => cells.length > 1)) return;
  const values = factor.levels.map(numberOf), log = Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 16;
  const part = section("over-factor", `Throughput over ${words(factor.name)}`, "Lines are predictions with their 90 % intervals" +
    (data.cells.some((cell) => cell.measured) ? "; rings are measured medians with 95 % intervals." : ".") +
    (groups.size > shown.length ? ` The first ${shown.length} of ${groups.size} combinations of the other factors; the table has all.` : ""));
  const series = [];
  shown.forEach(([name, cells], number) => {
    const sorted = [...cells].sort((a, b) => numberOf(a.levels[index]) - numberOf(b.levels[index]));
    series.push({name, color: kSeriesColors[number], line: true, points: sorted.map((cell) => [numberOf(cell.levels[index]), cell.tokens_per_s, speedAt(cell, cell.high_s), speedAt(cell, cell.low_s)])});
    series.push({name: (name === "predicted" ? "" : name + ", ") + "measured", color: kSeriesColors[number], dots: "ring", points: sorted.filter((cell) => cell.measured).map((cell) =>
      [numberOf(cell.levels[index]), measuredSpeed(cell), speedAt(cell, cell.measured.high_s), speedAt(cell, cell.measured.low_s)])});
  });
  const text = (value) => factor.levels[values.indexOf(value)] ?? String(value);
  xyPlot(panel(part), {series, x: {text, name: words(factor.name), log, values: [...values].sort((a, b) => a - b)}, y: {text: count, exact: (value) => count(value) + " tokens/s", zero: true}, seen: `Tokens a second over ${words(factor.name)}`});
}

const kWaits = [["compute", "--blue"], ["weights", "--yellow"], ["gradient", "--vermilion"], ["activation", "--pink"], ["optimizer", "--green"], ["launch", "--slate"], ["tokens", "--grey"]];
function drawParts() {
  const cells = data.cells.filter((cell) => cell.parts);
  if (!cells.length) return;
  const part = section("parts", "Where each cell's step goes", "Predicted: the compute lane at work, and what it waits for.");
  const most = Math.max(...cells.map((cell) => cell.step_s)), unit = timeUnit(most);
  const box = panel(part);
  table(box, [
    {name: "cell", left: true, kind: "name", text: (cell) => cell.name},
    {name: `0 to ${seconds(most)}`, left: true, bar: (place, cell) => {
      const stack = element(place, "div", {class: "stack"});
      for (const [name, color] of kWaits) {
        const time = cell.parts[name] || 0;
        if (time <= 0) continue;
        const piece = element(stack, "i");
        piece.style.cssText = `width: ${100 * time / most}%; --swatch: var(${color})`;
        withTip(piece, [cell.name, `${name === "compute" ? "compute" : "waits for " + name}: ${seconds(time)}, ${share(time / cell.step_s)} of the step`]);
      }
    }},
    {name: `step, ${unit.name}`, text: (cell) => unit.text(cell.step_s), key: (cell) => cell.step_s},
    {name: "compute", text: (cell) => share(cell.parts.compute / cell.step_s), key: (cell) => cell.parts.compute / cell.step_s},
    {name: "over the bound", text: (cell) => (cell.step_s / cell.bound_s).toFixed(2) + " ×", key: (cell) => cell.step_s / cell.bound_s},
    {name: "device memory", text: (cell) => bytes(cell.hbm_bytes), key: (cell) => cell.hbm_bytes},
    {name: "host memory", text: (cell) => bytes(cell.host_bytes), key: (cell) => cell.host_bytes},
    {name: "plan", left: true, kind: "prose", text: (cell) => cell.plan},
  ], cells, "Parts of each cell's step");
  legend(box, kWaits.filter(([name]) => cells.some((cell) => cell.parts[name] > 0.002 * cell.step_s)).map(([name, color]) => [name === "compute" ? name : "waits for " + name, color]));
}

function drawSamples() {
  const cells = data.cells.filter((cell) => cell.measured);
  if (!cells.length) return;
  const part = section("samples", "Every measured step, in the order they ran",
    "Each step over its cell's median. A drift over the experiment shows as a slope; cells of a repeat ran in an order that the seed shuffles. Rings stand outside 1.5 interquartile ranges of their cell; none is dropped.");
  const series = [["within", "--blue", "dot", 0], ["stand apart", "--vermilion", "ring", 1]].map(([name, color, dots, apart]) => ({name, color, dots, points: []}));
  const each = data.experiment.steps;
  for (const cell of cells) {
    for (const sample of cell.samples) sample.steps_s.forEach((time, index) => series[sample.apart[index] ? 1 : 0].points.push([(sample.order - 1) * each + index + 1, time / cell.measured.median_s]));
  }
  xyPlot(panel(part), {series, levels: [{name: "median of the cell", color: "--grey", value: 1}], x: {text: count, name: "measured step", whole: true}, y: {text: (value) => value.toFixed(2), exact: (value) => value.toFixed(3)}, seen: "Measured steps over their cells' medians"});
}

function drawExperiment() {
  if (!data.experiment.yaml) return;
  const part = section("experiment", "The experiment", "With all its defaults; sluice ablate of this file repeats it.");
  const box = element(panel(part), "details");
  element(box, "summary", {}, "experiment.yaml");
  element(element(box, "div", {class: "scroll"}), "pre", {tabindex: "0"}, data.experiment.yaml);
}

