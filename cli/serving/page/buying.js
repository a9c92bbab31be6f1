// Advice on what to buy or rent: the verdict, cost against time, and every machine.
/** Points {name, x, y, front} over two logarithmic axes; those on the front, which no other beats, have their names beside them. */
function costPlot(box, title, points) {
  const plot = panel(box);
  element(plot, "h3", {}, title);
  if (!points.length) { element(plot, "p", {class: "muted"}, "no machine that fits has such a price"); return; }
  for (const point of points) point.front = !points.some((other) => other !== point && other.x <= point.x && other.y <= point.y && (other.x < point.x || other.y < point.y));
  const kWidth = 540, kHeight = 330, kLeft = 64, kRight = 16, kTop = 14, kBottom = 44;
  const span = (values) => { const low = Math.min(...values), high = Math.max(...values); return [low / 1.25, high * 1.25]; };
  const [left, right] = span(points.map((point) => point.x)), [low, high] = span(points.map((point) => point.y));
  const toX = (x) => kLeft + Math.log(x / left) / Math.log(right / left) * (kWidth - kLeft - kRight);
  const toY = (y) => kTop + (1 - Math.log(y / low) / Math.log(high / low)) * (kHeight - kTop - kBottom);
  const svg = shape(plot, "svg", {viewBox: `0 0 ${kWidth} ${kHeight}`, role: "img", "aria-label": title, class: "cost-plot"});
  const marks = (from, to) => [1, 2, 5].flatMap((digit) => [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6].map((power) => digit * 10 ** power)).filter((value) => value >= from && value <= to).sort((a, b) => a - b);
  let free = -1;
  for (const value of marks(left, right)) {
    shape(svg, "line", {x1: toX(value), x2: toX(value), y1: kTop, y2: kHeight - kBottom, class: "grid"});
    const text = daysText(value);
    if (toX(value) - 3.4 * text.length < free) continue;
    free = toX(value) + 3.4 * text.length;
    shape(svg, "text", {x: toX(value), y: kHeight - kBottom + 17, "text-anchor": "middle"}, text);
  }
  for (const value of marks(low, high)) {
    shape(svg, "line", {x1: kLeft, x2: kWidth - kRight, y1: toY(value), y2: toY(value), class: "grid"});
    shape(svg, "text", {x: kLeft - 7, y: toY(value) + 4, "text-anchor": "end"}, dollars(value));
  }
  shape(svg, "text", {x: (kLeft + kWidth) / 2, y: kHeight - 6, "text-anchor": "middle"}, "time of the run");
  const named = [];  // Places of names: one that would lie on another is left to the tip.
  for (const point of points) {
    const dot = shape(svg, "circle", {cx: toX(point.x), cy: toY(point.y), r: 5, class: point.front ? "front" : "", style: `fill: var(${point.front ? "--orange" : "--grey"})`});
    withTip(dot, [point.name, daysText(point.x), dollars(point.y)]);
    if (!point.front || named.some(([x, y]) => Math.abs(x - toX(point.x)) < 90 && Math.abs(y - toY(point.y)) < 14)) continue;
    named.push([toX(point.x), toY(point.y)]);
    const short = point.name.split(" + ")[0], atEnd = toX(point.x) > 0.6 * kWidth;
    shape(svg, "text", {x: toX(point.x) + (atEnd ? -9 : 9), y: toY(point.y) - 6, "text-anchor": atEnd ? "end" : "start", class: "strong"}, short);
  }
  legend(plot, [["no other machine is both faster and cheaper", "--orange", "dot"], ["others", "--grey", "dot"]]);
}

function drawAdvice(box, advice) {
  box.textContent = "";
  const told = panel(box, "verdict");
  element(told, "h3", {}, "The verdict");
  for (const sentence of advice.verdict) element(told, "p", {}, sentence);
  const fit = advice.rows.filter((row) => row.fits && row.days);
  const pair = element(box, "div", {class: "pair"});
  costPlot(pair, "To rent: cost of the run against its time", fit.filter((row) => row.rent_usd).map((row) => ({name: row.machine, x: row.days, y: row.rent_usd})));
  costPlot(pair, "To buy: price against the time of the run", fit.filter((row) => row.buy_usd).map((row) => ({name: row.machine, x: row.days, y: row.buy_usd})));
  const all = panel(box);
  table(all, [
    {name: "machine", kind: "name", text: (row) => row.machine, key: (row) => row.machine, left: true},
    {name: "a step", text: (row) => row.step_s === null ? "–" : seconds(row.step_s), key: (row) => row.step_s},
    {name: "tokens/s", text: (row) => row.tokens_per_s === null ? "–" : count(row.tokens_per_s), key: (row) => row.tokens_per_s},
    {name: "time", text: (row) => daysText(row.days), key: (row) => row.days},
    {name: "to rent", text: (row) => dollars(row.rent_usd), key: (row) => row.rent_usd},
    {name: "to buy", text: (row) => dollars(row.buy_usd), key: (row) => row.buy_usd},
    {name: "limited by", kind: "prose left", text: (row) => row.limit, left: true},
  ], advice.rows, "Machines for this job");
}

function startBuying(catalogue) {
  const part = section("buy", "Choose a machine", catalogue.prices ? "Rent or buy, and what: by your file of prices." : "Rent or buy, and what. Without prices only speed is compared: start with sluice serve --prices FILE.");
  const result = document.createElement("div");
  const fields = runFields(catalogue);
  fields.find((field) => field.name === "tokens").value = "50M";
  askingForm(part, "buy-form", [
    ...fields,
    {name: "budget", label: "Budget in dollars", hint: "6k"},
    {name: "use", label: "Share of time in use", hint: "0.3"},
    {name: "usd-per-kwh", label: "Dollars a kWh", hint: "0.30"},
  ], "Advise", async (query) => drawAdvice(result, await asked("api/buy", query)));
  part.appendChild(result);
}
