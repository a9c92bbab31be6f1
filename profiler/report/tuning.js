// What autotune did: iterations, plans that had never run, sweeps of one field.
function drawIterations() {
  if (!data.rounds) return;
  const part = section("rounds", "Iterations: predicted, run, corrected",
    "Each iteration predicts its plan, runs it, and corrects the costs of what it saw. Tuning ends when the plan stays the same and its prediction holds within 5 %.");
  const unit = timeUnit(Math.max(...data.rounds.map((iteration) => Math.max(iteration.predicted_s, iteration.measured_s))));
  const most = Math.max(...data.rounds.flatMap((iteration) => [iteration.predicted_s, iteration.measured_s]));
  table(panel(part), [
    {name: "iteration", text: (row) => String(row.round), left: true},
    {name: `predicted, ${unit.name}`, text: (row) => unit.text(row.predicted_s)},
    {name: `measured, ${unit.name}`, text: (row) => unit.text(row.measured_s)},
    {name: "error", text: (row) => percent(row.error)},
    {name: "predicted ○, measured ●", left: true, bar: (cell, row) => pair(cell, row.predicted_s / most, row.measured_s / most)},
    {name: "largest miss, a step", left: true, text: (row) => `${words(row.miss.split("|")[0])} ${row.miss_s < 0 ? kMinus : "+"}${seconds(Math.abs(row.miss_s))}`},
    {name: "plan", left: true, kind: "prose", text: (row) => row.plan},
  ], data.rounds, "Iterations of tuning");
}

/** A ring and a dot on one line, each at a share of its length, and what lies between them. */
function pair(cell, predicted, measured) {
  const box = element(cell, "div", {class: "track"});
  element(box, "i", {class: "between"}).style.cssText = `left: ${100 * Math.min(predicted, measured)}%; width: ${100 * Math.abs(predicted - measured)}%`;
  element(box, "i", {class: "ring"}).style.left = 100 * predicted + "%";
  element(box, "i", {class: "dot"}).style.left = 100 * measured + "%";
}

function drawVerification() {
  const verified = data.verification;
  if (!verified) return;
  const part = section("verification", "Plans that had never run",
    "Predicted and written to the ledger before their first task, then run by turns. Whoever only remembers cannot do this.");
  const unit = timeUnit(Math.max(...verified.plans.map((plan) => plan.measured_s)));
  const most = Math.max(...verified.plans.flatMap((plan) => [plan.high_s, plan.measured_s]));
  table(panel(part), [
    {name: "plan", text: (row) => row.name, left: true},
    {name: `predicted, ${unit.name}`, text: (row) => unit.text(row.predicted_s)},
    {name: "90 %", text: (row) => `${unit.text(row.low_s)} to ${unit.text(row.high_s)}`},
    {name: `measured, ${unit.name}`, text: (row) => unit.text(row.measured_s)},
    {name: "error", text: (row) => percent(row.error)},
    {name: "predicted ○, measured ●", left: true, bar: (cell, row) => pair(cell, row.predicted_s / most, row.measured_s / most)},
    {name: "steps", text: (row) => count(row.steps)},
  ], verified.plans, "Plans that had never run");
  element(part, "p", {class: "muted seen"}, `One buffer takes ${verified.predicted_ratio.toFixed(3)} times as long as the best depth by prediction, ${verified.measured_ratio.toFixed(3)} times by measurement (${percent(verified.ratio_error)}).`);
}

function drawSweeps() {
  const curves = (data.sweeps || []).filter((curve) => curve.points.length);
  if (!curves.length) return;
  const part = section("sweeps", "One field of the plan after another", "The tuned plan with one field changed, predicted, then run. The knee is the first value within 1 % of the best.");
  const grid = element(part, "div", {class: "pair"});
  for (const curve of curves) {
    const box = panel(grid, "sweep");
    element(box, "h3", {}, words(curve.field));
    const unit = timeUnit(Math.max(...curve.points.map((point) => Math.max(point.predicted_s, point.measured_s || 0))));
    xyPlot(box, {
      series: [{name: "predicted", color: "--orange", line: true, points: curve.points.map((point) => [point.value, point.predicted_s])},
        {name: "measured", color: "--blue", points: curve.points.filter((point) => point.measured_s).map((point) => [point.value, point.measured_s])},
        {name: "knee", color: "--ink", dots: "ring", points: curve.points.filter((point) => point.value === curve.knee).map((point) => [point.value, point.predicted_s])}],
      x: {text: count, name: words(curve.field), values: curve.points.map((point) => point.value)}, y: {text: unit.tick, exact: seconds, zero: true},
      seen: `Step time by ${words(curve.field)}`,
    });
    element(box, "p", {class: "muted hint"}, curve.why);
  }
}

