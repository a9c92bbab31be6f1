// Timeline.
const kKindColor = {
  forward: "--blue", loss: "--aqua", recompute: "--orange", backward: "--violet", load_weights: "--yellow",
  store_gradient: "--red", load_gradient: "--magenta", load_activation: "--magenta", save_activation: "--magenta",
  update: "--green",
};
const kindColor = (kind) => kKindColor[kind] || "--grey";
function drawTimeline() {
  const line = data.timeline;
  if (!line.lanes.length) { hide("timeline-section"); return; }
  const used = new Set([...line.predicted, ...line.measured].map((span) => line.kinds[span[1]]));
  legend("timeline-legend", [...used].filter((kind) => kKindColor[kind]).map((kind) => [kind.replace("_", " "), kindColor(kind)])
    .concat([["other", "--grey"]]));
  const canvas = byId("timeline");
  const whole = [-0.02 * line.period_s, 1.02 * line.period_s];
  let view = [...whole];
  const kRow = 17, kGap = 14, kLabel = 132, kTop = 22;
  const height = kTop + line.lanes.length * (2 * kRow + kGap);
  const rows = [["predicted", line.predicted], ["measured", line.measured]];
  const rowTop = (lane, row) => kTop + lane * (2 * kRow + kGap) + row * kRow;
  const toX = (time, width) => kLabel + (time - view[0]) / (view[1] - view[0]) * (width - kLabel);
  function draw() {
    const width = canvas.clientWidth, scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "12px system-ui, sans-serif";
    const ink = css("--ink"), muted = css("--muted"), grid = css("--grid");
    const raw = (view[1] - view[0]) / 7, power = Math.pow(10, Math.floor(Math.log10(raw)));
    const tick = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
    for (let at = Math.ceil(view[0] / tick) * tick; at <= view[1]; at += tick) {
      const x = toX(at, width);
      pen.fillStyle = grid;
      pen.fillRect(x, kTop - 4, 1, height - kTop);
      pen.fillStyle = muted;
      pen.fillText(seconds(Math.abs(at) < tick / 1e6 ? 0 : at), x + 3, 12);
    }
    line.lanes.forEach((lane, index) => {
      pen.fillStyle = ink;
      pen.fillText(lane, 0, rowTop(index, 0) + 13);
      pen.fillStyle = muted;
      pen.fillText("predicted", 66, rowTop(index, 0) + 13);
      pen.fillText("measured", 66, rowTop(index, 1) + 13);
      pen.fillStyle = grid;
      pen.fillRect(kLabel, rowTop(index, 0), width - kLabel, 2 * kRow - 1);
    });
    pen.save();
    pen.beginPath();
    pen.rect(kLabel, 0, width - kLabel, height);
    pen.clip();
    rows.forEach(([, spans], row) => {
      for (const [lane, kind, start, end] of spans) {
        if (end < view[0] || start > view[1]) continue;
        const x = toX(start, width), wide = Math.max(toX(end, width) - x, 0.6);
        pen.fillStyle = css(kindColor(line.kinds[kind]));
        pen.fillRect(x, rowTop(lane, row) + 1, wide > 3 ? wide - 1 : wide, kRow - 3);
      }
    });
    pen.fillStyle = ink;
    for (const at of [0, line.period_s]) pen.fillRect(toX(at, width), kTop - 4, 1, height - kTop);
    pen.restore();
  }
  function hit(event) {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const time = view[0] + (x - kLabel) / (box.width - kLabel) * (view[1] - view[0]);
    const slack = (view[1] - view[0]) / box.width;
    for (let row = 0; row < 2; ++row) {
      for (const span of rows[row][1]) {
        const top = rowTop(span[0], row);
        if (y >= top && y < top + kRow && time >= span[2] - slack && time <= span[3] + slack) return [rows[row][0], span];
      }
    }
    return null;
  }
  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    const at = view[0] + Math.max(0, event.clientX - box.left - kLabel) / (box.width - kLabel) * (view[1] - view[0]);
    const factor = Math.exp(event.deltaY * 0.0015);
    view = [at - (at - view[0]) * factor, at + (view[1] - at) * factor];
    draw();
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => { drag = [event.clientX, ...view]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("dblclick", () => { view = [...whole]; draw(); });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const shift = (event.clientX - drag[0]) / (canvas.clientWidth - kLabel) * (drag[2] - drag[1]);
      view = [drag[1] - shift, drag[2] - shift];
      draw();
      return;
    }
    const found = hit(event);
    if (!found) { hideTip(); return; }
    const [which, span] = found;
    showTip(event, `${span[4]}\n${which}: ${seconds(span[3] - span[2])}` + (span[5] ? `, ${bytes(span[5])}` : "") +
      (span[6] ? "\non the critical path" : ""));
  });
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

