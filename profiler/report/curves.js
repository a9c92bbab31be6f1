// Curves over the steps of a run: loss, step time.
/** `curves`: {name, color, points: [[x, y]], dots}; `levels`: {name, color, value, low, high}. */
function curveChart(box, curves, levels, labels) {
  curves = curves.filter((curve) => curve.points.length);
  const points = curves.flatMap((curve) => curve.points);
  const kWidth = 1080, kHeight = 280, kLeft = 74, kBottom = 30, kTop = 12, kRight = 20;
  const values = points.map((point) => point[1]).concat(levels.flatMap((level) => [level.value, level.low ?? level.value, level.high ?? level.value]));
  const first = Math.min(...points.map((point) => point[0])), last = Math.max(...points.map((point) => point[0]), first + 1);
  let low = labels.zero ? 0 : Math.min(...values), high = Math.max(...values);
  const margin = 0.06 * (high - low || 1);
  if (!labels.zero) low -= margin;
  high += margin;
  const toX = (x) => kLeft + (x - first) / (last - first) * (kWidth - kLeft - kRight);
  const toY = (y) => kTop + (high - y) / (high - low) * (kHeight - kTop - kBottom);
  const svg = shape(box, "svg", {viewBox: `0 0 ${kWidth} ${kHeight}`, role: "img", "aria-label": labels.seen, class: "chart"});
  for (const value of ticks(low, high, 5)) {
    shape(svg, "line", {x1: kLeft, x2: kWidth - kRight, y1: toY(value), y2: toY(value), class: "grid"});
    shape(svg, "text", {x: kLeft - 8, y: toY(value) + 4, "text-anchor": "end"}, labels.value(value));
  }
  for (const at of ticks(first, last, 8)) {
    if (Number.isInteger(at)) shape(svg, "text", {x: toX(at), y: kHeight - 9, "text-anchor": "middle"}, (at === first ? "step " : "") + count(at));
  }
  for (const level of levels) {
    const color = `var(${level.color})`;
    if (level.low !== undefined) shape(svg, "rect", {x: kLeft, width: kWidth - kLeft - kRight, y: toY(level.high), height: toY(level.low) - toY(level.high), style: `fill: ${color}; opacity: 0.16`});
    shape(svg, "line", {x1: kLeft, x2: kWidth - kRight, y1: toY(level.value), y2: toY(level.value), style: `stroke: ${color}; stroke-dasharray: 6 5; stroke-width: 1.5`});
  }
  for (const curve of curves) {
    const path = curve.points.map((point, i) => (i ? "L" : "M") + toX(point[0]).toFixed(1) + " " + toY(point[1]).toFixed(1)).join("");
    shape(svg, "path", {d: path, style: `fill: none; stroke: var(${curve.color}); stroke-width: 2; stroke-linejoin: round`});
    if (curve.points.length > 40 && !curve.dots) continue;
    for (const point of curve.points) shape(svg, "circle", {cx: toX(point[0]), cy: toY(point[1]), r: 3, style: `fill: var(${curve.color})`});
  }
  svg.addEventListener("pointermove", (event) => {
    const frame = svg.getBoundingClientRect();
    const step = first + ((event.clientX - frame.left) / frame.width * kWidth - kLeft) / (kWidth - kLeft - kRight) * (last - first);
    showTip(event, curves.map((curve) => {
      const near = curve.points.reduce((a, b) => Math.abs(b[0] - step) < Math.abs(a[0] - step) ? b : a);
      return `${curve.name}, step ${count(near[0])}: ${labels.exact(near[1])}`;
    }));
  });
  svg.addEventListener("pointerleave", hideTip);
  legend(box, curves.map((curve) => [curve.name, curve.color]).concat(levels.map((level) => [level.name, level.color, "dashed"])));
}

function drawLoss() {
  const loss = data.loss;
  if (!loss || !loss.train.length) return;
  const last = loss.train[loss.train.length - 1];
  const part = section("loss", "Loss", "Cross-entropy, nats a token, of each step's own tokens and of text that is not trained on.");
  const levels = loss.unigram > 0 ? [{name: `how often each token occurs, alone: ${loss.unigram.toFixed(3)}`, value: loss.unigram, color: "--vermilion"}] : [];
  curveChart(panel(part), [{name: "training", points: loss.train, color: "--blue"}, {name: "validation", points: loss.validation, color: "--orange", dots: true}],
    levels, {value: (value) => value.toFixed(2), exact: (value) => value.toFixed(4), seen: `Training loss ${last[1].toFixed(3)} after step ${last[0]}`});
}

function drawSteps() {
  const points = data.steps || [], head = data.headline;
  if (!points.length) return;
  const part = section("step-times", "Step time", "Each step as it was measured, beside what was predicted before the run.");
  const level = head.predicted_s > 0 ? [{name: "predicted" + (head.high_s > 0 ? ", with its 90 % interval" : ""), value: head.predicted_s, color: "--orange",
    ...(head.high_s > 0 ? {low: head.low_s, high: head.high_s} : {})}] : [];
  curveChart(panel(part), [{name: "measured", points, color: "--blue"}], level,
    {value: seconds, exact: seconds, zero: true, seen: `Step times of ${points.length} steps`});
}

