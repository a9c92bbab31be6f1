// Curves over the steps of a run: loss, step time.
function drawLoss() {
  const loss = data.loss;
  if (!loss || !loss.train.length) return;
  const last = loss.train[loss.train.length - 1], few = loss.train.length <= 60;
  const part = section("loss", "Loss", "Cross-entropy, nats a token, of each step's own tokens and of text that is not trained on.");
  const levels = loss.unigram > 0 ? [{name: `how often each token occurs, alone: ${loss.unigram.toFixed(3)}`, value: loss.unigram, color: "--vermilion"}] : [];
  xyPlot(panel(part), {
    series: [{name: "training", points: loss.train, color: "--blue", line: true, dots: few ? "dot" : "none"},
      {name: "validation", points: loss.validation, color: "--orange", line: true}],
    levels, x: {text: count, name: "step", whole: true}, y: {text: (value) => value.toFixed(2), exact: (value) => value.toFixed(4)},
    seen: `Training loss ${last[1].toFixed(3)} after step ${last[0]}`,
  });
}

function drawSteps() {
  const points = data.steps || [], head = data.headline;
  if (!points.length) return;
  const part = section("step-times", "Step time", "Each step as it was measured, beside what was predicted before the run.");
  const levels = head.predicted_s > 0 ? [{name: "predicted" + (head.high_s > 0 ? ", with its 90 % interval" : ""), value: head.predicted_s, color: "--orange",
    ...(head.high_s > 0 ? {low: head.low_s, high: head.high_s} : {})}] : [];
  const unit = timeUnit(Math.max(...points.map((point) => point[1]), head.predicted_s));
  xyPlot(panel(part), {
    series: [{name: "measured", points, color: "--blue", line: true, dots: points.length <= 60 ? "dot" : "none"}],
    levels, x: {text: count, name: "step", whole: true}, y: {text: unit.tick, exact: seconds, zero: true}, seen: `Step times of ${points.length} steps`,
  });
}

