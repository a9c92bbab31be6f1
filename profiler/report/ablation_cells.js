// The cells of an experiment, one a row: predicted beside measured.
const kPredicted = "--orange", kMeasured = "--blue";
const speedOf = (cell) => cell.fits ? cell.tokens_per_s : null;
/** Tokens a second of steps of that length. */
const speedAt = (cell, time) => cell.tokens_per_s * cell.step_s / time;
const measuredSpeed = (cell) => cell.fits && cell.measured ? speedAt(cell, cell.measured.median_s) : null;

function drawAblationCards() {
  const cells = data.cells, fit = cells.filter((cell) => cell.fits), ran = fit.filter((cell) => cell.measured);
  const box = element(byId("main"), "section", {class: "cards", "aria-label": "In short"});
  card(box, "Cells", count(cells.length), fit.length === cells.length ? `${words(data.experiment.design)}, all fit` : `${words(data.experiment.design)}, ${count(cells.length - fit.length)} do not fit or are no runs`);
  if (!fit.length) return;
  const best = fit.reduce((a, b) => (measuredSpeed(b) || speedOf(b)) > (measuredSpeed(a) || speedOf(a)) ? b : a);
  card(box, "Fastest", count(measuredSpeed(best) || speedOf(best)) + " tokens/s", best.name);
  const first = fit[0];
  if (first !== best) card(box, "Over the first cell", ((measuredSpeed(best) || speedOf(best)) / (measuredSpeed(first) || speedOf(first))).toFixed(3) + " ×", first.name);
  if (!ran.length) return;
  const errors = ran.map((cell) => cell.step_s / cell.measured.median_s - 1);
  const mean = errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length;
  card(box, "Prediction error", share(mean), `mean of ${count(ran.length)} cells, at worst ${percent(errors.reduce((a, b) => Math.abs(b) > Math.abs(a) ? b : a))}`, mean <= 0.05 ? "good" : "bad");
}

function drawCells() {
  const cells = data.cells, device = cells.some((cell) => cell.measured);
  const part = section("cells", device ? "Every cell, predicted and measured" : "Every cell, predicted",
    device ? "Tokens a second. Rings are predictions with their 90 % intervals; dots are medians of all measured steps with bootstrapped 95 % intervals; small marks are single steps, and crosses those outside 1.5 interquartile ranges: shown, and counted."
      : "Tokens a second, with 90 % intervals. Heads of columns sort.");
  const fit = cells.filter((cell) => cell.fits);
  const most = 1.02 * Math.max(1, ...fit.flatMap((cell) => [speedAt(cell, cell.low_s)].concat(cell.samples.flatMap((sample) => sample.steps_s.map((time) => speedAt(cell, time))))));
  const box = panel(part);
  const wide = [{name: "cell", left: true, kind: "name", text: (cell) => cell.name}, {name: fit.length ? `tokens/s, 0 to ${count(most)}` : "tokens/s", left: true, kind: "wide", bar: (cell, row) => cellTrack(cell, row, most)},
    {name: "predicted", text: (cell) => speedOf(cell) === null ? "" : count(speedOf(cell)), key: speedOf}];
  if (device) {
    wide.push({name: "measured", text: (cell) => measuredSpeed(cell) === null ? "" : count(measuredSpeed(cell)), key: measuredSpeed});
    wide.push({name: "error", text: (cell) => errorOf(cell) === null ? "" : percent(errorOf(cell)), key: (cell) => errorOf(cell) === null ? null : Math.abs(errorOf(cell))});
  }
  table(box, wide, cells, "Throughput of each cell");
  legend(box, [["predicted, 90 %", kPredicted, "ring"]].concat(device ? [["measured median, 95 %", kMeasured, "dot"], ["a step that stands apart", "--vermilion", "cross"]] : []));
  if (fit.length) cellNumbers(panel(part), cells, device);
}
/** Predicted over measured step time, less one. */
const errorOf = (cell) => cell.fits && cell.measured ? cell.step_s / cell.measured.median_s - 1 : null;

function cellNumbers(box, cells, device) {
  const fit = cells.filter((cell) => cell.fits), first = fit[0];
  if (!first) return;
  const unit = timeUnit(Math.max(...fit.map((cell) => cell.step_s)));
  const beside = (speed) => (cell) => speed(first) && speed(cell) ? speed(cell) / speed(first) : null;
  const ratio = (name, speed) => ({name, text: (cell) => beside(speed)(cell) === null ? "" : beside(speed)(cell).toFixed(3), key: beside(speed)});
  const time = (name, part) => ({name: `${name}, ${unit.name}`, text: (cell) => cell.fits && part(cell) !== null ? unit.text(part(cell)) : "", key: (cell) => cell.fits ? part(cell) : null});
  const range = (name, of) => ({name: `${name}, ${unit.name}`, text: (cell) => cell.fits && of(cell) ? `${unit.text(of(cell).low_s)} to ${unit.text(of(cell).high_s)}` : ""});
  const columns = data.experiment.factors.map((factor, index) => ({name: factor.name, left: true, kind: "name", text: (cell) => cell.levels[index],
    key: (cell) => numberOf(cell.levels[index]) ?? cell.levels[index]}));
  columns.push(time("step", (cell) => cell.step_s), range("90 %", (cell) => cell));
  if (device) columns.push(time("measured", (cell) => cell.measured ? cell.measured.median_s : null), range("95 %", (cell) => cell.measured));
  columns.push(ratio("speed over the first", speedOf));
  if (device) columns.push(ratio("measured so", measuredSpeed));
  columns.push({name: "bound by", left: true, text: (cell) => cell.fits ? words(cell.bound_by) : cell.status, key: (cell) => cell.bound_by});
  columns.push({name: "limited by", left: true, text: (cell) => cell.fits ? words(cell.limited_by) : "", key: (cell) => cell.limited_by});
  element(box, "h3", {}, "In numbers");
  table(box, columns, cells, "Cells of the experiment in numbers");
}

function cellTrack(place, cell, most) {
  if (!cell.fits) { element(place, "span", {class: "bad wrap"}, cell.reason); return; }
  const box = element(place, "div", {class: "track"}), at = (speed) => 100 * speed / most + "%";
  const interval = (low, high, kind) => { element(box, "i", {class: "interval " + kind}).style.cssText = `left: ${at(low)}; width: calc(${at(high)} - ${at(low)})`; };
  const lines = [cell.name, `predicted ${count(cell.tokens_per_s)} tokens/s, ${seconds(cell.step_s)} a step`];
  interval(speedAt(cell, cell.high_s), speedAt(cell, cell.low_s), "predicted");
  for (const sample of cell.samples) {
    sample.steps_s.forEach((time, index) => { element(box, "i", {class: sample.apart[index] ? "apart" : "one"}).style.left = at(speedAt(cell, time)); });
  }
  element(box, "i", {class: "ring"}).style.left = at(cell.tokens_per_s);
  if (cell.measured) {
    interval(speedAt(cell, cell.measured.high_s), speedAt(cell, cell.measured.low_s), "measured");
    element(box, "i", {class: "dot"}).style.left = at(measuredSpeed(cell));
    const apart = cell.samples.flatMap((sample) => sample.apart).filter(Boolean).length;
    lines.push(`measured ${count(measuredSpeed(cell))} tokens/s, ${seconds(cell.measured.median_s)} a step`, `${count(cell.samples.flatMap((sample) => sample.steps_s).length)} steps in ${cell.samples.length} runs, ${apart} stand apart`);
  }
  lines.push(cell.plan);
  withTip(box, lines);
}

