// The form of a prediction, and what comes of it: the step, its memory and its timeline.
const kPartColors = ["--blue", "--orange", "--green", "--pink", "--sky", "--vermilion", "--purple", "--yellow", "--slate", "--wine", "--rose", "--grey"];

function drawMemory(box, memory) {
  element(box, "h3", {}, "Memory at its peak");
  for (const [tier, {peak_bytes: peak, capacity_bytes: capacity, parts}] of Object.entries(memory)) {
    if (!capacity || !peak) continue;
    const of = element(box, "p", {class: "hint muted"}, `${tier}: ${bytes(peak)} of ${bytes(capacity)}`);
    of.style.marginTop = "12px";
    const meter = element(box, "div", {class: "meter", role: "img", "aria-label": of.textContent});
    const shown = Object.entries(parts).filter(([, size]) => size > 0).sort((a, b) => b[1] - a[1]);
    shown.forEach(([name, size], index) => {
      const bar = element(meter, "i");
      bar.style.setProperty("--swatch", `var(${kPartColors[index % kPartColors.length]})`);
      bar.style.width = 100 * size / Math.max(capacity, peak) + "%";
      withTip(bar, [`${name}: ${bytes(size)}`]);
    });
    legend(box, shown.slice(0, 6).map(([name, size], index) => [`${name} ${bytes(size)}`, kPartColors[index], ""]));
  }
}

/** Lanes of a step as rows of tasks on a canvas; drawn again where the view or the theme changes. */
function drawTimeline(box, timeline) {
  element(box, "h3", {}, "One step, lane by lane");
  const controls = element(box, "div", {class: "controls"});
  const canvas = element(box, "canvas", {id: "timeline-canvas", tabindex: "0", role: "img",
    "aria-label": `Timeline of ${timeline.lane.length} tasks on ${timeline.lanes.length} lanes over ${seconds(timeline.step_s)}`});
  const kRow = 30, kLeft = 74, kTop = 6, whole = Math.max(timeline.step_s, ...timeline.end_s.slice(-1));
  let from = 0, to = whole;
  const width = () => canvas.clientWidth - kLeft;
  const toX = (time) => kLeft + (time - from) / (to - from) * width();
  function draw() {
    const ratio = devicePixelRatio || 1, high = kTop + kRow * timeline.lanes.length + 24;
    canvas.style.height = high + "px";
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = high * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px " + css("--font");
    timeline.lanes.forEach((name, row) => {
      pen.fillStyle = css("--lane");
      pen.fillRect(kLeft, kTop + row * kRow, width(), kRow - 6);
      pen.fillStyle = css("--muted");
      pen.fillText(name, 0, kTop + row * kRow + 16);
    });
    for (let i = 0; i < timeline.lane.length; ++i) {
      if (timeline.end_s[i] < from || timeline.start_s[i] > to) continue;
      const left = Math.max(kLeft, toX(timeline.start_s[i])), right = Math.min(kLeft + width(), toX(timeline.end_s[i]));
      pen.fillStyle = css(kindColor(timeline.kinds[timeline.kind[i]]));
      pen.fillRect(left, kTop + timeline.lane[i] * kRow, Math.max(0.7, right - left - (right - left > 3 ? 0.6 : 0)), kRow - 6);
    }
    pen.fillStyle = css("--muted");
    for (const at of ticks(from, to, 6)) pen.fillText(instant(at), Math.min(toX(at), canvas.clientWidth - 44), high - 6);
    canvas.dataset.view = `${from} ${to}`;
  }
  const show = (low, high) => {
    const length = Math.min(whole, Math.max(whole / 5000, high - low));
    from = Math.max(0, Math.min(low, whole - length));
    to = from + length;
    draw();
  };
  const zoom = (factor) => { const middle = (from + to) / 2, half = (to - from) / 2 * factor; show(middle - half, middle + half); };
  for (const [text, act] of [["−", () => zoom(2)], ["+", () => zoom(0.5)], ["whole step", () => show(0, whole)]]) {
    element(controls, "button", {type: "button"}, text).addEventListener("click", act);
  }
  element(controls, "span", {class: "muted"}, "drag to move; + and − zoom" + (timeline.joined ? "; short neighbours are joined" : ""));
  let held = null;
  canvas.addEventListener("pointerdown", (event) => { held = [event.clientX, from, to]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (event) => {
    const frame = canvas.getBoundingClientRect();
    if (held) {
      const moved = (held[0] - event.clientX) / width() * (to - from);
      show(held[1] + moved, held[2] + moved);
      return;
    }
    const lane = Math.floor((event.clientY - frame.top - kTop) / kRow), time = from + (event.clientX - frame.left - kLeft) / width() * (to - from);
    for (let i = 0; i < timeline.lane.length; ++i) {
      if (timeline.lane[i] !== lane || time < timeline.start_s[i] || time > timeline.end_s[i]) continue;
      showTip(event, [words(timeline.kinds[timeline.kind[i]]), `unit ${timeline.unit[i]}`, `${instant(timeline.start_s[i])} to ${instant(timeline.end_s[i])}`]);
      return;
    }
    hideTip();
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("keydown", (event) => {
    const length = to - from, move = {ArrowLeft: -0.2, ArrowRight: 0.2}[event.key];
    if (move) show(from + move * length, to + move * length);
    else if (event.key === "+") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else return;
    event.preventDefault();
  });
  legend(box, timeline.kinds.map((kind) => [words(kind), kindColor(kind), ""]));
  onTheme(() => { if (canvas.isConnected) draw(); });
  addEventListener("resize", () => { if (canvas.isConnected) draw(); });
  draw();
}

function drawPrediction(box, found, timeline) {
  box.textContent = "";
  if (!found.fits) {
    const told = panel(box);
    element(told, "h3", {}, found.tier ? `It does not fit: ${found.tier} is short by ${bytes(found.short_bytes)}` : "The plan of this policy does not fit");
    for (const remedy of found.remedies) element(told, "p", {}, `${remedy.what} (${remedy.setting}): ${seconds(remedy.step_s)} a step`);
    return;
  }
  const cards = element(box, "div", {class: "cards", id: "predicted"});
  card(cards, "A step", seconds(found.step_s), `90 %: ${seconds(found.step_s_low)} to ${seconds(found.step_s_high)}`);
  card(cards, "Tokens a second", count(found.tokens_per_s), found.mfu === null ? "" : `${share(found.mfu)} of the GPU's peak`);
  card(cards, "Bound", seconds(found.bound_s), `by ${found.bound_by}: no plan is faster`);
  if (found.days !== null) card(cards, "All tokens", daysText(found.days), found.rent_usd === null ? "no rent known" : `${dollars(found.rent_usd)} rented`);
  const {measured, fitted, datasheet} = found.evidence;
  card(cards, "Rests on", share(measured + fitted), `measured or fitted; ${share(datasheet)} datasheets`);
  if (timeline.lane) drawTimeline(panel(box), timeline);
  const pair = element(box, "div", {class: "pair"});
  drawMemory(panel(pair), found.memory);
  const busy = panel(pair);
  element(busy, "h3", {}, "How long each lane works");
  table(busy, [{name: "lane", text: (row) => row[0]}, {name: "of the step", text: (row) => share(row[1])},
    {name: "", bar: (cell, row) => { const bar = element(element(cell, "div", {class: "plain"}), "i"); bar.style.width = 100 * row[1] + "%"; bar.style.setProperty("--swatch", "var(--blue)"); }}],
    Object.entries(found.busy), "Share of the step in which each lane works");
  const waits = Object.entries(found.stalls).filter(([, wait]) => wait > 0);
  if (waits.length) {
    element(busy, "h3", {style: "margin-top: 18px"}, "What compute waits for");
    table(busy, [{name: "waits for", text: (row) => row[0]}, {name: "in a step", text: (row) => seconds(row[1])}], waits, "Waits of the compute lane");
  }
  element(box, "p", {class: "hint muted"}, `nearest case that was measured: ${found.nearest_case}`);
}

function startPredicting(catalogue) {
  const part = section("predict", "Predict", "A job on a machine of the catalogue: how long a step takes with the best plan, and why. Nothing is trained.");
  const names = (list) => list.map((one) => one.name);
  const result = document.createElement("div");
  askingForm(part, "predict-form", [
    ...runFields(catalogue),
    {name: "machine", label: "Machine", choices: names(catalogue.machines.machines), value: "rtx-4090"},
    {name: "ram", label: "Its memory", hint: "4x64 GiB DDR5-5600", value: "4x64 GiB DDR5-5600"},
    {name: "ssd", label: "Its drives", hint: "1x gen4"},
    {name: "disk", label: "Disk to use", hint: "500 GiB"},
    {name: "micro-batch", label: "Sequences at a time", hint: "1"},
    {name: "policy", label: "Policy", choices: ["", ...catalogue.policies]},
  ], "Predict", async (query) => {
    const found = await asked("api/predict", query);
    drawPrediction(result, found, found.fits ? await asked("api/timeline", query) : {});
  });
  part.appendChild(result);
}
