// Cards.
function card(name, value, note, tone) {
  const box = element(byId("cards"), "div", {class: "card"});
  element(box, "div", {class: "name"}, name);
  element(box, "div", {class: "value" + (tone ? " " + tone : "")}, value);
  element(box, "div", {class: "note"}, note);
}
function drawHead() {
  document.title = data.title + " · Sluice";
  byId("title").textContent = data.title;
  byId("subtitle").textContent = data.subtitle;
  const head = data.headline;
  if (head.predicted_s > 0) {
    card("Predicted step", seconds(head.predicted_s),
         head.high_s > 0 ? `90 % between ${seconds(head.low_s)} and ${seconds(head.high_s)}` : "before the run");
  }
  if (head.measured_s > 0) card("Measured step", seconds(head.measured_s), `median of ${head.steps} steps`);
  if (head.predicted_s > 0 && head.measured_s > 0) {
    const error = head.predicted_s / head.measured_s - 1;
    card("Prediction error", percent(error), "predicted over measured", Math.abs(error) <= 0.05 ? "good" : "bad");
  }
  if (head.tokens_per_s > 0) card("Throughput", Math.round(head.tokens_per_s).toLocaleString("en"), "tokens/s, measured");
  if (head.bound_s > 0) {
    const step = head.measured_s > 0 ? head.measured_s : head.predicted_s;
    card("Over the bound", (step / head.bound_s).toFixed(2) + "×", `no schedule beats ${seconds(head.bound_s)} (${head.bound_by})`);
  }
  const validation = data.loss.validation;
  if (validation.length) {
    const last = validation[validation.length - 1][1];
    card("Validation loss", last.toFixed(3), data.loss.unigram > 0 ? `unigram entropy ${data.loss.unigram.toFixed(3)} nats` : "nats",
         data.loss.unigram > last ? "good" : "");
  }
}

// Waterfall.
const kPartColor = {compute: "--blue", "beyond the bound": "--blue", weights: "--yellow", gradient: "--red", activation: "--magenta",
  optimizer: "--green", launch: "--grey", tokens: "--grey", bound: "--grey"};
function drawWaterfall() {
  const columns = data.waterfall.filter((column) => column.parts.length);
  if (!columns.length) { hide("waterfall-section"); return; }
  const total = Math.max(...columns.map((column) => column.parts.reduce((sum, part) => sum + part.seconds, 0)));
  const kBar = 24, kWidth = 520, kLeft = 150;
  let y = 4;
  const svg = shape(byId("waterfall"), "svg", {role: "img"});
  for (const column of columns) {
    shape(svg, "text", {x: 0, y: y + 13, class: "strong", "font-weight": 600}, column.name);
    y += 22;
    let at = 0;
    const rows = column.parts.filter((part) => part.seconds > 0.0005 * total);
    for (const part of rows) {
      const x = kLeft + at / total * (kWidth - kLeft - 74), wide = Math.max(1, part.seconds / total * (kWidth - kLeft - 74));
      shape(svg, "text", {x: kLeft - 8, y: y + 15, "text-anchor": "end"}, part.name);
      const bar = shape(svg, "rect", {x, y: y + 3, width: wide, height: kBar - 7, rx: 3, style: `fill: var(${kPartColor[part.name] || "--grey"})`});
      withTip(bar, `${part.name}: ${seconds(part.seconds)} (${(100 * part.seconds / total).toFixed(1)} %)`);
      shape(svg, "text", {x: x + wide + 6, y: y + 15}, seconds(part.seconds));
      at += part.seconds;
      y += kBar;
    }
    shape(svg, "text", {x: kLeft - 8, y: y + 15, "text-anchor": "end", class: "strong"}, "step");
    shape(svg, "rect", {x: kLeft, y: y + 3, width: at / total * (kWidth - kLeft - 74), height: kBar - 7, rx: 3, style: "fill: var(--predicted)"});
    shape(svg, "text", {x: kLeft + at / total * (kWidth - kLeft - 74) + 6, y: y + 15, class: "strong"}, seconds(at));
    y += kBar + 12;
  }
  const bound = data.headline.bound_s;
  if (bound > 0 && bound <= total) {
    const x = kLeft + bound / total * (kWidth - kLeft - 74);
    shape(svg, "line", {x1: x, x2: x, y1: 4, y2: y - 8, style: "stroke: var(--red); stroke-dasharray: 5 4; stroke-width: 1.5"});
    shape(svg, "text", {x: x - 4, y: y + 8, "text-anchor": "end"}, `bound ${seconds(bound)} (${data.headline.bound_by})`);
    y += 14;
  }
  svg.setAttribute("viewBox", `0 0 ${kWidth} ${y}`);
}

// Memory.
const kTierColors = ["--blue", "--aqua", "--yellow", "--green", "--violet", "--red", "--magenta", "--orange"];
function drawMemory() {
  if (!data.memory.length) { hide("memory-section"); return; }
  for (const tier of data.memory) {
    const box = element(byId("memory"), "div", {class: "tier"});
    const head = element(box, "div", {class: "head"});
    element(head, "strong", {}, tier.tier);
    element(head, "span", {class: "muted"}, `${bytes(tier.predicted_bytes)} predicted` +
      (tier.measured_bytes ? `, ${bytes(tier.measured_bytes)} measured` : "") + ` of ${bytes(tier.capacity_bytes)}`);
    const bar = element(box, "div", {class: "bar"});
    const key = element(box, "div", {class: "legend"});
    const scale = Math.max(tier.capacity_bytes, tier.predicted_bytes, 1);
    // A tier that is almost empty is drawn against what is used, so that its parts can be told apart.
    const full = tier.predicted_bytes < 0.05 * scale ? tier.predicted_bytes : scale;
    tier.parts.forEach((part, index) => {
      const color = kTierColors[index % kTierColors.length];
      const piece = element(bar, "div");
      piece.style.width = 100 * part.bytes / full + "%";
      piece.style.background = `var(${color})`;
      withTip(piece, `${part.name}: ${bytes(part.bytes)}`);
      const entry = element(key, "span");
      element(entry, "i").style.background = `var(${color})`;
      entry.appendChild(document.createTextNode(`${part.name} ${bytes(part.bytes)}`));
    });
  }
}

// Tables.
function drawRows(id, rows, section) {
  if (!rows.length) { hide(section); return; }
  const table = element(byId(id), "table");
  const head = element(element(table, "thead"), "tr");
  for (const name of ["", "tasks", "predicted", "measured", "difference", ""]) element(head, "th", {}, name);
  const body = element(table, "tbody");
  for (const row of rows) {
    const line = element(body, "tr");
    element(line, "td", {}, row.name.replace(/_/g, " "));
    for (const text of [String(row.count), seconds(row.a_s), seconds(row.b_s), seconds(row.b_s - row.a_s),
                        row.a_s > 0 ? percent(row.b_s / row.a_s - 1) : "–"]) element(line, "td", {}, text);
  }
}

