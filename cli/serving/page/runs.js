// Run folders, and the curves of one of them as it goes on.
const kPollMs = 2000;

function drawCurves(box, name, rows, running) {
  box.textContent = "";
  const shown = panel(box);
  const head = element(shown, "h3", {}, name);
  if (running) { head.prepend(element(null, "span", {class: "live", title: "running"})); }
  const last = rows[rows.length - 1];
  if (!last) { element(shown, "p", {class: "muted"}, "no step is done yet"); return; }
  const column = (key) => rows.filter((row) => typeof row[key] === "number").map((row) => [row.step, row[key]]);
  const x = {text: (value) => count(value), whole: true, name: "step"};
  const plain = (value) => Number(value.toPrecision(4)).toString();
  xyPlot(shown, {series: [{name: "loss", color: "--blue", points: column("loss"), line: true, dots: rows.length > 60 ? "none" : "dot"},
    {name: "validation", color: "--vermilion", points: column("val_loss"), line: true, dots: "ring"}], x, y: {text: plain}, seen: `Loss of ${name} by step`});
  const pair = element(box, "div", {class: "pair"});
  const [times, rates] = [panel(pair), panel(pair)];  // Both are there before either is drawn, as wide as it will be.
  xyPlot(times, {series: [{name: "step time, measured", color: "--blue", points: column("step_s"), line: true, dots: "none"},
    {name: "predicted", color: "--orange", points: column("predicted_s"), line: true, dots: "none"}], x, y: {text: seconds, zero: true}, seen: `Step time of ${name}`});
  xyPlot(rates, {series: [{name: "useful tokens/s", color: "--green", points: column("useful_tokens_per_s"), line: true, dots: "none"}], x, y: {text: count, zero: true}, seen: `Tokens a second of ${name}`});
}

function startRuns() {
  const part = section("runs", "Runs", "Run folders of this computer, the one that changed last first. Curves go on while a run does.");
  const list = panel(part), curves = element(part, "div", {id: "curves"});
  let chosen = null, rows = [], drawn = "";
  async function follow() {
    if (chosen === null || part.hidden) return;  // What is hidden has no width to draw in.
    const name = chosen, after = rows.length ? rows[rows.length - 1].step : 0;
    const more = await asked("api/metrics", {run: name, after: String(after)});
    if (chosen !== name || part.hidden) return;
    rows = rows.concat(more.rows);
    const state = `${name} ${rows.length} ${more.running}`;
    if (state !== drawn) drawCurves(curves, name, rows, more.running);
    drawn = state;
  }
  const choose = (name) => { chosen = name; rows = []; drawn = ""; return follow(); };
  let told = "";
  async function look() {
    const {runs} = await asked("api/runs");
    if (JSON.stringify(runs) !== told) {
      told = JSON.stringify(runs);
      list.textContent = "";
      if (!runs.length) element(list, "p", {class: "muted"}, "There is no run here yet: sluice train run.yaml out=runs/NAME makes one. Another folder: sluice serve --runs DIR.");
      else {
        const made = table(list, [
          {name: "run", left: true, bar: (cell, row) => {
            if (row.running) element(cell, "span", {class: "live", title: "running"});
            element(cell, "button", {type: "button", class: "sort"}, row.name).addEventListener("click", () => choose(row.name));
          }},
          {name: "model", text: (row) => row.model ?? "–"},
          {name: "machine", text: (row) => row.machine ?? "–"},
          {name: "steps", text: (row) => row.of === null ? count(row.steps) : `${count(row.steps)} of ${count(row.of)}`},
          {name: "loss", text: (row) => row.loss === null ? "–" : row.loss.toFixed(4)},
          {name: "a step", text: (row) => row.step_s === null ? "–" : seconds(row.step_s)},
          {name: "predicted", text: (row) => row.predicted_s === null ? "–" : seconds(row.predicted_s)},
        ], runs, "Runs");
        made.classList.add("runs");
      }
      if (chosen === null && runs.length) await choose(runs[0].name);
    }
    await follow();
  }
  const poll = async () => {
    try {
      if (!document.hidden && !part.hidden) await look();
    } catch (failure) {
      list.textContent = failure.message;  // The server may have ended; the next look says more.
      told = "";
    }
    setTimeout(poll, kPollMs);
  };
  part.addEventListener("shown", look);
  poll();
}
