// Paints the timeline's lanes for one view: a start and an end in seconds.
const kTimeline = {track: 20, gap: 12, top: 26, wideLabel: 152, narrowLabel: 70, laneTitle: 16};

function timelineLayout(model, width) {
  const narrow = width < 640;
  const label = narrow ? kTimeline.narrowLabel : kTimeline.wideLabel;
  const title = narrow ? kTimeline.laneTitle : 0;
  const lane = title + model.tracks.length * kTimeline.track + kTimeline.gap;
  const laneTop = (index) => kTimeline.top + index * lane;
  return {
    narrow, label, width,
    height: kTimeline.top + model.line.lanes.length * lane,
    laneTop, trackTop: (index, track) => laneTop(index) + title + track * kTimeline.track,
    toX: (time, view) => label + (time - view[0]) / (view[1] - view[0]) * (width - label),
    toTime: (x, view) => view[0] + (x - label) / (width - label) * (view[1] - view[0]),
  };
}

/** `shown`: {view, focus, selected, found: [Set, Set] or null, criticalOnly}. */
function paintTimeline(canvas, model, shown) {
  const layout = timelineLayout(model, canvas.clientWidth);
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(layout.width * scale);
  canvas.height = Math.round(layout.height * scale);
  canvas.style.height = layout.height + "px";
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.textBaseline = "middle";
  paintAxis(pen, model, layout, shown.view);
  pen.save();
  pen.beginPath();
  pen.rect(layout.label, 0, layout.width - layout.label, layout.height);
  pen.clip();
  model.tracks.forEach((track, number) => {
    model.line.lanes.forEach((lane, index) => paintLane(pen, model, layout, shown, track, number, index));
  });
  pen.fillStyle = css("--ink");
  for (const at of [0, model.period]) pen.fillRect(layout.toX(at, shown.view), kTimeline.top - 6, 1, layout.height - kTimeline.top);
  for (const task of [shown.focus, shown.selected]) if (task) outline(pen, model, layout, shown, task);
  pen.restore();
}

function paintAxis(pen, model, layout, view) {
  const muted = css("--muted"), most = Math.max(3, Math.floor((layout.width - layout.label) / 110));
  pen.font = "12px " + css("--font");
  const unit = timeUnit(Math.max(Math.abs(view[0]), Math.abs(view[1])));
  for (const at of ticks(view[0], view[1], most)) {
    const x = Math.round(layout.toX(at, view));
    if (x < layout.label) continue;
    pen.fillStyle = css("--grid");
    pen.fillRect(x, kTimeline.top - 6, 1, layout.height - kTimeline.top);
    pen.fillStyle = muted;
    const text = unit.tick(Math.abs(at) < 1e-12 ? 0 : at);
    if (x + 4 + pen.measureText(text).width <= layout.width) pen.fillText(text, x + 4, 9);
  }
  model.line.lanes.forEach((lane, index) => {
    pen.fillStyle = css("--ink");
    pen.font = "600 12px " + css("--font");
    pen.fillText(lane, 0, layout.narrow ? layout.laneTop(index) + 7 : layout.trackTop(index, 0) + kTimeline.track / 2);
    pen.font = "12px " + css("--font");
    model.tracks.forEach((track, number) => {
      pen.fillStyle = muted;
      pen.fillText(track.name, layout.narrow ? 0 : 84, layout.trackTop(index, number) + kTimeline.track / 2);
      pen.fillStyle = css("--lane");
      pen.fillRect(layout.label, layout.trackTop(index, number), layout.width - layout.label, kTimeline.track - 2);
    });
  });
}

function paintLane(pen, model, layout, shown, track, number, index) {
  const {view, found, criticalOnly} = shown;
  const list = track.lanes[index], top = layout.trackTop(index, number), high = kTimeline.track - 2;
  const ink = css("--ink"), faint = css("--faint");
  let painted = -1;  // Pixels up to here are painted; a task inside them needs no paint of its own.
  for (let i = model.firstEndingAfter(track, index, view[0]); i < list.length; ++i) {
    const task = list[i], start = track.start_ns[task] / 1e9;
    if (start > view[1]) break;
    const x = Math.max(layout.toX(start, view), layout.label - 2), end = Math.min(layout.toX(track.end_ns[task] / 1e9, view), layout.width + 2);
    const plain = (!found || found[number].has(task)) && (!criticalOnly || track.critical[task]);
    const marked = (found && plain) || track.critical[task];
    if (end <= painted && !marked) continue;
    const wide = Math.max(end - x, 1), gap = wide > 4 ? 1 : 0;
    const color = css(kindColor(model.line.kinds[track.kind[task]]));
    pen.fillStyle = plain ? color : faint;
    pen.fillRect(x, top, wide - gap, high);
    painted = Math.max(painted, x + wide);
    if (track.critical[task]) {
      pen.fillStyle = ink;
      pen.fillRect(x, top + high - 3, wide - gap, 3);
    }
    if (wide > 40 && plain) label(pen, nameWithin(model.line.ids[track.id[task]], words(model.line.kinds[track.kind[task]])), inkOn(color), x + 4, top + 8.5, wide - 8);
  }
}
/** The part of a task's name that tells it from its neighbours: without step and round. */
const nameWithin = (id, kind) => id.replace(/^s\d+\//, "").replace(/^r0\//, "") || kind;
function label(pen, text, color, x, y, wide) {
  pen.font = "11px " + css("--font");
  if (pen.measureText(text).width > wide) {
    const room = Math.floor(text.length * wide / pen.measureText(text).width) - 1;
    if (room < 3) return;
    text = text.slice(0, room) + "…";
  }
  pen.fillStyle = color;
  pen.fillText(text, x, y);
}
function outline(pen, model, layout, shown, task) {
  for (const each of [task, model.other(task)]) {
    if (!each) continue;
    const x = layout.toX(each.start, shown.view), wide = Math.max(layout.toX(each.end, shown.view) - x, 2);
    const top = layout.trackTop(model.line.lanes.indexOf(each.lane), model.tracks.indexOf(each.track));
    pen.strokeStyle = css("--ink");
    pen.lineWidth = 2;
    pen.strokeRect(x - 1, top - 1, wide + 1, kTimeline.track);
  }
}

