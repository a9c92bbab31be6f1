// Draws what there are data for, in the order of the page.
function drawHead() {
  document.title = data.title + " · Sluice";
  byId("eyebrow").textContent = {train: "Sluice: a training run", autotune: "Sluice: tuning a plan", ablate: "Sluice: an experiment"}[data.kind] || "Sluice";
  byId("title").textContent = data.title;
  byId("subtitle").textContent = data.subtitle;
}
function drawCards() {
  const head = data.headline;
  if (!head) return;
  const box = element(byId("main"), "section", {class: "cards", "aria-label": "In short"});
  if (head.predicted_s > 0) card(box, "Predicted step", seconds(head.predicted_s), head.high_s > 0 ? `90 %: ${seconds(head.low_s)} to ${seconds(head.high_s)}` : "before it ran");
  if (head.measured_s > 0) card(box, "Measured step", seconds(head.measured_s), `median of ${count(head.steps)} steps`);
  if (head.predicted_s > 0 && head.measured_s > 0) {
    const error = head.predicted_s / head.measured_s - 1;
    card(box, "Prediction error", percent(error), "predicted over measured", Math.abs(error) <= 0.05 ? "good" : "bad");
  }
  if (head.tokens_per_s > 0) card(box, "Throughput", count(head.tokens_per_s), "tokens/s, measured");
  if (head.bound_s > 0) {
    const step = head.measured_s > 0 ? head.measured_s : head.predicted_s;
    const says = step < head.bound_s ? `quicker than ${seconds(head.bound_s)} (${words(head.bound_by)}), the profile's bound: its rates are too low, sluice probe measures them` : `no schedule beats ${seconds(head.bound_s)} (${words(head.bound_by)})`;
    card(box, "Over the bound", (step / head.bound_s).toFixed(2) + " ×", says);
  }
  const validation = data.loss ? data.loss.validation : [];
  if (validation.length) {
    const last = validation[validation.length - 1][1];
    card(box, "Validation loss", last.toFixed(3), data.loss.unigram > 0 ? `token frequencies alone: ${data.loss.unigram.toFixed(3)}` : "nats a token");
  }
}
function drawProvenance() {
  if (!data.provenance || !data.provenance.length) return;
  const part = section("provenance", "What this was", "Hashes of all that the numbers rest on.");
  const list = element(panel(part), "dl", {class: "facts"});
  for (const [name, value] of data.provenance) {
    element(list, "dt", {}, name);
    element(list, "dd", {}, value);
  }
}
startTheme();
drawHead();
drawCards();
if (data.kind === "ablate") {
  drawAblationCards();
  drawOverFactor();
  drawCells();
  drawEffects();
  drawParts();
  drawSamples();
  drawExperiment();
}
drawIterations();
drawVerification();
drawSweeps();
drawTimeline();
drawMemory();
drawWaterfall();
drawComparison();
drawElasticities();
drawLoss();
drawSteps();
drawProvenance();
document.documentElement.dataset.drawn = "yes";
