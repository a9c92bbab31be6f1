// Tables of predicted beside measured times, by task kind and by lane.
function drawComparison() {
  const kinds = (data.kinds || []).filter((row) => row.measured_s > 0);
  if (!kinds.length) return;
  const part = section("errors", "Prediction error by task kind",
    "Time of all tasks of a kind in one step. Bars are the difference: to the right the prediction was too long, to the left too short.");
  comparisonTable(panel(part), kinds, "task kind", "Prediction error by task kind");
  const lanes = (data.lanes || []).filter((row) => row.measured_s > 0);
  if (!lanes.length) return;
  element(part, "h3", {}, "By lane");
  comparisonTable(panel(part), lanes, "lane", "Prediction error by lane");
}

function comparisonTable(box, rows, what, caption) {
  const unit = timeUnit(Math.max(...rows.map((row) => Math.max(row.predicted_s, row.measured_s))));
  const most = Math.max(...rows.map((row) => Math.abs(row.predicted_s - row.measured_s)), 1e-12);
  const error = (row) => row.measured_s > 0 ? row.predicted_s / row.measured_s - 1 : null;
  table(box, [
    {name: what, text: (row) => words(row.name), left: true, key: (row) => row.name},
    {name: "tasks", text: (row) => count(row.count), key: (row) => row.count},
    {name: `predicted, ${unit.name}`, text: (row) => unit.text(row.predicted_s), key: (row) => row.predicted_s},
    {name: `measured, ${unit.name}`, text: (row) => unit.text(row.measured_s), key: (row) => row.measured_s},
    {name: `difference, ${unit.name}`, text: (row) => unit.change(row.predicted_s - row.measured_s), key: (row) => Math.abs(row.predicted_s - row.measured_s)},
    {name: "error", text: (row) => error(row) === null ? "–" : percent(error(row)), key: (row) => error(row) === null ? null : Math.abs(error(row))},
    {name: "too short | too long", middle: true, bar: (cell, row) => diverging(cell, (row.predicted_s - row.measured_s) / most)},
  ], rows, caption);
}

/** A bar from the middle, `value` from -1 to 1. */
function diverging(cell, value) {
  const piece = element(element(cell, "div", {class: "diverging"}), "i");
  piece.style.cssText = `left: ${value < 0 ? 50 + 50 * value : 50}%; width: ${50 * Math.abs(value)}%; --swatch: var(${value < 0 ? "--vermilion" : "--blue"})`;
}

