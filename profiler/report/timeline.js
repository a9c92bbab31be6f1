// The timeline's controls: pointers, keys, search.
function drawTimeline() {
  const line = data.timeline;
  if (!line || !line.rows.length) return;
  const model = timelineTracks(line);
  const part = section("timeline", line.rows.length > 1 ? "One step, predicted above measured" : "One step, predicted",
    "Each lane runs its tasks one at a time. Time 0 is when a step's gradients are known; the step ends when the next one's are." +
    (line.observed ? ` Measured: ${line.observed}.` : ""));
  const summed = line.summed_up ? ` Neighbouring tasks are drawn as one${line.every_task ? `; each by itself is in ${line.every_task}, which ui.perfetto.dev opens` : ""}.` : "";
  element(part, "p", {class: "muted seen", id: "timeline-count"}, line.rows.map((track) => `${track.name} ${count(track.tasks)} tasks`).join(", ") + " around this step." + summed);
  const bar = element(part, "div", {class: "controls"});
  const box = panel(part);
  const canvas = element(box, "canvas", {id: "timeline-canvas", tabindex: "0", role: "application",
    "aria-label": "Timeline. Left and right arrows move, plus and minus zoom, comma and full stop go from task to task, up and down from track to track, zero shows the whole step."});
  const used = line.kinds.filter((kind, index) => line.rows.some((track) => track.kind.includes(index)));
  legend(box, used.filter((kind) => kKindColor[kind]).map((kind) => [words(kind), kindColor(kind)])
    .concat(used.some((kind) => !kKindColor[kind]) ? [["other", "--grey"]] : []).concat([["on the critical path", "--ink", "underline"]]));
  const detail = element(box, "div", {id: "task", class: "detail", "aria-live": "polite"});
  const whole = [-0.02 * model.period, 1.02 * model.period];
  const shown = {view: [...whole], focus: null, selected: null, found: null, criticalOnly: false};
  const limits = [-0.34 * model.period, 1.18 * model.period];
  let waiting = false;
  const draw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; paintTimeline(canvas, model, shown); });
  };
  const look = (from, to) => {
    const wide = Math.min(Math.max(to - from, 1e-6), limits[1] - limits[0]);
    const start = Math.min(Math.max(from, limits[0]), limits[1] - wide);
    shown.view = [start, start + wide];
    canvas.dataset.view = shown.view.join(" ");
    hideTip();  // Its task has moved.
    draw();
  };
  const zoom = (factor, at = (shown.view[0] + shown.view[1]) / 2) => look(at - (at - shown.view[0]) * factor, at + (shown.view[1] - at) * factor);
  const move = (portion) => { const by = portion * (shown.view[1] - shown.view[0]); look(shown.view[0] + by, shown.view[1] + by); };
  const select = (task) => {
    shown.selected = task;
    detail.textContent = "";
    if (task) taskLines(model, task).forEach((text, index) => element(detail, index === 0 ? "strong" : "span", {}, text));
    else element(detail, "span", {class: "muted"}, "Choose a task to keep what is known of it here.");
    draw();
  };
  const reveal = (task) => {
    const wide = shown.view[1] - shown.view[0];
    if (task.start < shown.view[0] || task.end > shown.view[1]) {
      const room = Math.max(wide, 1.5 * (task.end - task.start)), middle = (task.start + task.end) / 2;
      look(middle - room / 2, middle + room / 2);
    }
    select(task);
  };

  const small = (text, name, act) => element(bar, "button", {type: "button", "aria-label": name, title: name}, text).addEventListener("click", act);
  small("+", "Zoom in", () => zoom(0.5));
  small(kMinus, "Zoom out", () => zoom(2));
  small("Whole step", "Show the whole step", () => look(...whole));
  const search = element(bar, "input", {type: "search", id: "search", placeholder: "Find a task or kind", "aria-label": "Find tasks by name or kind", autocomplete: "off"});
  const hits = element(bar, "span", {class: "muted", id: "hits", role: "status"});
  const only = element(element(bar, "label"), "input", {type: "checkbox", id: "critical"});
  only.parentNode.appendChild(document.createTextNode(" Critical path alone"));
  only.addEventListener("change", () => { shown.criticalOnly = only.checked; draw(); });
  let list = [], next = 0;
  search.addEventListener("input", () => {
    const text = search.value.trim();
    const found = text ? model.matching(text) : null;
    shown.found = found && found.map((positions) => new Set(positions));
    list = found ? found.flatMap((positions, track) => positions.map((index) => model.lookUp(model.tracks[track], index))) : [];
    list.sort((a, b) => a.start - b.start);
    const first = Math.max(0, list.findIndex((task) => task.end > Math.max(0, shown.view[0])));
    list = [...list.slice(first), ...list.slice(0, first)];  // Begins with the part of the step that is shown.
    next = 0;
    hits.textContent = text ? (list.length ? `${count(list.length)} found` : "none found") : "";
    draw();
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { search.value = ""; search.dispatchEvent(new Event("input")); }
    if (event.key !== "Enter" || !list.length) return;
    next = (next + (event.shiftKey ? list.length - 1 : 0)) % list.length;
    reveal(list[next]);
    hits.textContent = `${count(next + 1)} of ${count(list.length)}`;
    next = event.shiftKey ? next : next + 1;
  });
  startPointers(canvas, model, shown, {look, zoom, select, draw, whole});
  startKeys(canvas, model, shown, {look, zoom, move, reveal, select, whole});
  element(part, "p", {class: "muted hint"}, "Drag or ← → move; Ctrl and wheel, pinch or + − zoom; a double click fits a task. With the timeline focused, the keys comma and full stop go from task to task, ↑ ↓ from track to track.");
  new ResizeObserver(draw).observe(canvas);
  onTheme(draw);
  select(null);
  look(...whole);
}

function startPointers(canvas, model, shown, to) {
  const down = new Map();  // The x of each pointer that touches, by id.
  let moved = false, before = null;
  const under = (event) => {
    const box = canvas.getBoundingClientRect(), layout = timelineLayout(model, box.width);
    const x = event.clientX - box.left, y = event.clientY - box.top, time = layout.toTime(x, shown.view);
    if (x < layout.label) return null;
    const slack = 2 * (shown.view[1] - shown.view[0]) / (box.width - layout.label);
    for (let lane = 0; lane < model.line.lanes.length; ++lane) {
      for (let track = 0; track < model.tracks.length; ++track) {
        const top = layout.trackTop(lane, track);
        if (y >= top && y < top + kTimeline.track) return model.at(model.tracks[track], lane, time, 0) || model.at(model.tracks[track], lane, time, slack);
      }
    }
    return null;
  };
  const timeAt = (x) => { const box = canvas.getBoundingClientRect(); return timelineLayout(model, box.width).toTime(x - box.left, shown.view); };
  canvas.addEventListener("wheel", (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!event.ctrlKey && !event.metaKey && !sideways) return;  // The page scrolls.
    event.preventDefault();
    if (sideways) { const by = event.deltaX / canvas.clientWidth * (shown.view[1] - shown.view[0]); to.look(shown.view[0] + by, shown.view[1] + by); }
    else to.zoom(Math.exp(event.deltaY * 0.002), timeAt(event.clientX));
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, event.clientX);
    before = {view: [...shown.view], xs: [...down.values()], times: [...down.values()].map(timeAt)};
    moved = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!down.has(event.pointerId)) {
      const task = under(event);
      if (task) showTip(event, taskLines(model, task)); else hideTip();
      if ((task && task.name) !== (shown.focus && shown.focus.name)) { shown.focus = task; to.draw(); }
      return;
    }
    down.set(event.pointerId, event.clientX);
    const xs = [...down.values()];
    if (Math.abs(xs[0] - before.xs[0]) > 3) { moved = true; hideTip(); }
    if (!moved && xs.length < 2) return;
    const layout = timelineLayout(model, canvas.clientWidth);
    let wide = before.view[1] - before.view[0];
    if (xs.length > 1) wide *= Math.abs(before.xs[1] - before.xs[0]) / Math.max(8, Math.abs(xs[1] - xs[0]));
    const start = before.times[0] - (xs[0] - canvas.getBoundingClientRect().left - layout.label) / (layout.width - layout.label) * wide;
    to.look(start, start + wide);
  });
  const up = (event) => { down.delete(event.pointerId); };
  canvas.addEventListener("pointerup", (event) => { up(event); if (!moved) to.select(under(event)); });
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => { hideTip(); shown.focus = null; to.draw(); });
  canvas.addEventListener("dblclick", (event) => {
    const task = under(event);
    if (!task) { to.look(...to.whole); return; }
    const wide = task.end - task.start;
    to.look(task.start - wide, task.end + wide);
  });
}

function startKeys(canvas, model, shown, to) {
  const start = () => { const track = model.tracks[0], lane = track.lanes.findIndex((list) => list.length); return {track, lane, at: model.firstEndingAfter(track, lane, Math.max(0, shown.view[0]))}; };
  const step = (by, tracks) => {
    const task = shown.selected;
    if (!task) { const first = start(); const list = first.track.lanes[first.lane]; if (list.length) to.reveal(model.lookUp(first.track, list[Math.min(first.at, list.length - 1)])); return; }
    const lane = model.line.lanes.indexOf(task.lane);
    if (by) {
      const list = task.track.lanes[lane], at = list.indexOf(task.index) + by;
      if (at >= 0 && at < list.length) to.reveal(model.lookUp(task.track, list[at]));
      return;
    }
    let place = lane * model.tracks.length + model.tracks.indexOf(task.track) + tracks;
    for (; place >= 0 && place < model.line.lanes.length * model.tracks.length; place += tracks) {
      const track = model.tracks[place % model.tracks.length], other = Math.floor(place / model.tracks.length), list = track.lanes[other];
      if (!list.length) continue;
      to.reveal(model.lookUp(track, list[Math.min(model.firstEndingAfter(track, other, task.start), list.length - 1)]));
      return;
    }
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowLeft: () => to.move(-0.15), ArrowRight: () => to.move(0.15), "+": () => to.zoom(0.6), "=": () => to.zoom(0.6), "-": () => to.zoom(1 / 0.6),
      0: () => to.look(...to.whole), Home: () => to.look(...to.whole), ",": () => step(-1, 0), ".": () => step(1, 0),
      ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1), Escape: () => to.select(null),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

