// Points, lines and intervals over two axes.
/**
 * `series`: {name, color, points: [[x, y, low, high]], line, dots: "none" | "dot" | "ring"}; `levels`: {name, color, value, low, high},
 * across the plot; `x` and `y`: {text: (value) => string, exact, zero, log, values, name}. The nearest point of each series is told.
 */
function xyPlot(box, {series, levels = [], x, y, seen}) {
  series = series.filter((one) => one.points.length);
  const points = series.flatMap((one) => one.points);
  const narrow = box.clientWidth > 0 && box.clientWidth < 560;
  const kWidth = narrow ? 440 : 1080, kHeight = narrow ? 270 : 290, kLeft = narrow ? 62 : 78, kBottom = x.name ? 46 : 30, kTop = 12, kRight = 20;
  const ys = points.flatMap((point) => point.slice(1).filter((value) => value !== undefined && value !== null))
    .concat(levels.flatMap((level) => [level.value, level.low ?? level.value, level.high ?? level.value]));
  const scale = x.log ? Math.log : (value) => value;
  const first = Math.min(...points.map((point) => point[0])), last = Math.max(...points.map((point) => point[0]));
  const left = scale(first), right = scale(last) > left ? scale(last) : left + 1, inset = x.values ? 0.04 * (right - left) : 0;
  let low = y.zero ? 0 : Math.min(...ys), high = Math.max(...ys);
  const margin = 0.06 * (high - low || 1);
  if (!y.zero) low -= margin;
  high += margin;
  const toX = (value) => kLeft + (scale(value) - left + inset) / (right - left + 2 * inset) * (kWidth - kLeft - kRight);
  const toY = (value) => kTop + (high - value) / (high - low) * (kHeight - kTop - kBottom);
  const svg = shape(box, "svg", {viewBox: `0 0 ${kWidth} ${kHeight}`, role: "img", "aria-label": seen, class: "plot"});
  for (const value of ticks(low, high, 5)) {
    shape(svg, "line", {x1: kLeft, x2: kWidth - kRight, y1: toY(value), y2: toY(value), class: "grid"});
    shape(svg, "text", {x: kLeft - 8, y: toY(value) + 4, "text-anchor": "end"}, y.text(value));
  }
  let free = -1;
  for (const at of x.values || ticks(first, last, narrow ? 4 : 8).filter((value) => !x.whole || Number.isInteger(value))) {
    const text = x.text(at), middle = toX(at);
    if (middle - 4 * text.length < free) continue;
    free = middle + 4 * text.length;
    shape(svg, "text", {x: middle, y: kTop + kHeight - kTop - kBottom + 19, "text-anchor": "middle"}, text);
  }
  if (x.name) shape(svg, "text", {x: (kLeft + kWidth - kRight) / 2, y: kHeight - 6, "text-anchor": "middle"}, x.name);
  for (const level of levels) {
    const color = `var(${level.color})`;
    if (level.low !== undefined) shape(svg, "rect", {x: kLeft, width: kWidth - kLeft - kRight, y: toY(level.high), height: toY(level.low) - toY(level.high), style: `fill: ${color}; opacity: 0.16`});
    shape(svg, "line", {x1: kLeft, x2: kWidth - kRight, y1: toY(level.value), y2: toY(level.value), style: `stroke: ${color}; stroke-dasharray: 6 5; stroke-width: 1.5`});
  }
  // Intervals at one place are drawn beside each other.
  const colors = [...new Set(series.map((one) => one.color))];
  const shifted = (one, value) => toX(value) + (x.values && colors.length > 1 ? (colors.indexOf(one.color) - (colors.length - 1) / 2) * 7 : 0);
  for (const one of series) {
    const color = `var(${one.color})`;
    if (one.line) {
      const path = one.points.map((point, i) => (i ? "L" : "M") + shifted(one, point[0]).toFixed(1) + " " + toY(point[1]).toFixed(1)).join("");
      shape(svg, "path", {d: path, style: `fill: none; stroke: ${color}; stroke-width: 2; stroke-linejoin: round`});
    }
    for (const point of one.points) {
      if (point[2] !== undefined && point[2] !== null) {
        shape(svg, "line", {x1: shifted(one, point[0]), x2: shifted(one, point[0]), y1: toY(point[2]), y2: toY(point[3]), style: `stroke: ${color}; stroke-width: 1.5`});
      }
      if (one.dots === "none") continue;
      const ring = one.dots === "ring";
      shape(svg, "circle", {cx: shifted(one, point[0]), cy: toY(point[1]), r: ring ? 4.5 : 3.5, class: one.dots || "dot",
        style: ring ? `fill: var(--panel); stroke: ${color}; stroke-width: 2` : `fill: ${color}`});
    }
  }
  svg.addEventListener("pointermove", (event) => {
    const frame = svg.getBoundingClientRect(), at = (event.clientX - frame.left) / frame.width * kWidth;
    const near = (one) => one.points.reduce((a, b) => Math.abs(toX(b[0]) - at) < Math.abs(toX(a[0]) - at) ? b : a);
    const closest = Math.min(...series.map((one) => Math.abs(toX(near(one)[0]) - at)));
    const told = series.filter((one) => Math.abs(toX(near(one)[0]) - at) <= closest + 12);
    showTip(event, [(x.name ? x.name + " " : "") + (x.exact || x.text)(near(told[0])[0])].concat(told.map((one) => {
      const point = near(one);
      return `${one.name}: ${(y.exact || y.text)(point[1])}` + (point[2] !== undefined && point[2] !== null ? `, ${(y.exact || y.text)(point[2])} to ${(y.exact || y.text)(point[3])}` : "");
    })));
  });
  svg.addEventListener("pointerleave", hideTip);
  legend(box, series.map((one) => [one.name, one.color, one.dots === "ring" ? "ring" : one.line ? "" : "dot"]).concat(levels.map((level) => [level.name, level.color, "dashed"])));
  return svg;
}

