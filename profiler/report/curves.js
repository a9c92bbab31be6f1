// Curves.
function drawCurves(id, curves, levels, labels) {
  const points = curves.flatMap((curve) => curve.points);
  if (!points.length) return false;
  const kWidth = 1080, kHeight = 280, kLeft = 78, kBottom = 28, kTop = 10, kRight = 36;
  const values = points.map((point) => point[1]).concat(levels.map((level) => level.value));
  const first = Math.min(...points.map((point) => point[0])), last = Math.max(...points.map((point) => point[0]), first + 1);
  let low = labels.zero ? 0 : Math.min(...values), high = Math.max(...values);
  const margin = 0.06 * (high - low || 1);
  if (!labels.zero) low -= margin;
  high += margin;
  const toX = (x) => kLeft + (x - first) / (last - first) * (kWidth - kLeft - kRight);
  const toY = (y) => kTop + (high - y) / (high - low) * (kHeight - kTop - kBottom);
  const svg = shape(byId(id), "svg", {viewBox: `0 0 ${kWidth} ${kHeight}`, role: "img"});
  for (let i = 0; i <= 4; ++i) {
    const value = low + (high - low) * i / 4;
    shape(svg, "line", {x1: kLeft, x2: kWidth - kRight, y1: toY(value), y2: toY(value), style: "stroke: var(--grid)"});
    shape(svg, "text", {x: kLeft - 8, y: toY(value) + 4, "text-anchor": "end"}, labels.value(value));
  }
  for (let i = 0; i <= 5; ++i) {
    const at = Math.round(first + (last - first) * i / 5);
    shape(svg, "text", {x: toX(at), y: kHeight - 8, "text-anchor": "middle"}, "step " + at);
  }
  for (const level of levels) {
    shape(svg, "line", {x1: kLeft, x2: kWidth - kRight, y1: toY(level.value), y2: toY(level.value),
      style: `stroke: var(${level.color}); stroke-dasharray: 6 5; stroke-width: 1.5`});
  }
  for (const curve of curves) {
    if (!curve.points.length) continue;
    const path = curve.points.map((point, i) => (i ? "L" : "M") + toX(point[0]).toFixed(1) + " " + toY(point[1]).toFixed(1)).join("");
    shape(svg, "path", {d: path, style: `fill: none; stroke: var(${curve.color}); stroke-width: 2; stroke-linejoin: round`});
    if (curve.points.length <= 40) {
      for (const point of curve.points) shape(svg, "circle", {cx: toX(point[0]), cy: toY(point[1]), r: 3.5, style: `fill: var(${curve.color})`});
    }
  }
  svg.addEventListener("mousemove", (event) => {
    const box = svg.getBoundingClientRect();
    const step = first + ((event.clientX - box.left) / box.width * kWidth - kLeft) / (kWidth - kLeft - kRight) * (last - first);
    const lines = [];
    for (const curve of curves) {
      if (!curve.points.length) continue;
      const near = curve.points.reduce((a, b) => Math.abs(b[0] - step) < Math.abs(a[0] - step) ? b : a);
      lines.push(`${curve.name}, step ${near[0]}: ${labels.value(near[1])}`);
    }
    showTip(event, lines.join("\n"));
  });
  svg.addEventListener("mouseleave", hideTip);
  legend(id + "-legend", curves.filter((curve) => curve.points.length).map((curve) => [curve.name, curve.color])
    .concat(levels.map((level) => [level.name, level.color])));
  return true;
}

