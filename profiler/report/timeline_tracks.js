// The tasks of one step, by track (predicted, measured) and lane, in the order they start.
function timelineTracks(line) {
  const tracks = line.rows.map((track) => {
    const lanes = line.lanes.map(() => []);
    track.start_ns.forEach((start, index) => lanes[track.lane[index]].push(index));
    const position = new Map();  // The place of each id's task in the track's columns.
    track.id.forEach((id, index) => position.set(id, index));
    return {...track, lanes, position};
  });
  const lookUp = (track, index) => ({
    track, index, name: line.ids[track.id[index]], lane: line.lanes[track.lane[index]], kind: line.kinds[track.kind[index]],
    start: track.start_ns[index] / 1e9, end: track.end_ns[index] / 1e9, bytes: track.bytes[index], critical: track.critical[index] === 1,
    tasks: track.count ? track.count[index] : 1, busy: track.busy_ns ? track.busy_ns[index] / 1e9 : null,
    alone: track.alone_ns[index] === null ? null : track.alone_ns[index] / 1e9,
    limit: track.limit[index] === null ? null : line.limits[track.limit[index]],
  });
  return {
    line, tracks, lookUp,
    period: Math.max(1e-9, ...tracks.map((track) => track.period_s)),
    /** The same task in the other track; null where it is not there. */
    other(task) {
      const track = tracks.find((each) => each !== task.track);
      const index = track && task.tasks === 1 ? track.position.get(task.track.id[task.index]) : undefined;
      return index === undefined ? null : lookUp(track, index);
    },
    /** Index in a lane's list of the first task that ends after `time`. */
    firstEndingAfter(track, lane, time) {
      const list = track.lanes[lane];
      let low = 0, high = list.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (track.end_ns[list[middle]] / 1e9 > time) high = middle; else low = middle + 1;
      }
      return low;
    },
    at(track, lane, time, slack) {
      const list = track.lanes[lane];
      for (let i = this.firstEndingAfter(track, lane, time - slack); i < list.length; ++i) {
        if (track.start_ns[list[i]] / 1e9 > time + slack) return null;
        return lookUp(track, list[i]);
      }
      return null;
    },
    /** Positions of tasks whose name or kind holds `text`, by track. */
    matching(text) {
      const wanted = text.toLowerCase();
      const ids = line.ids.map((id) => id.toLowerCase().includes(wanted));
      const kinds = line.kinds.map((kind) => words(kind).includes(wanted) || kind.includes(wanted));
      return tracks.map((track) => track.id.map((id, index) => index).filter((index) => ids[track.id[index]] || kinds[track.kind[index]]));
    },
  };
}

/** Lines that describe a task, its name first. */
function taskLines(model, task) {
  const lines = [task.name + (task.tasks > 1 ? ` and ${count(task.tasks - 1)} more` : ""), `${words(task.kind)} on ${task.lane}`];
  const other = model.other(task);
  for (const each of other ? [task, other].sort((a, b) => model.tracks.indexOf(a.track) - model.tracks.indexOf(b.track)) : [task]) {
    lines.push(`${each.track.name}: ${seconds(each.end - each.start)}, from ${instant(each.start)}`);
  }
  if (other) {
    const [predicted, measured] = task.track.name === "predicted" ? [task, other] : [other, task];
    const took = measured.end - measured.start, expected = predicted.end - predicted.start;
    if (took > 0) lines.push(`prediction error: ${percent(expected / took - 1)}`);
  }
  if (task.busy !== null && task.tasks > 1) lines.push(`${count(task.tasks)} tasks, together ${seconds(task.busy)}`);
  if (task.bytes > 0) lines.push(`${bytes(task.bytes)}` + (task.tasks === 1 ? `, ${rate(task.bytes / (task.end - task.start))}` : ""));
  if (task.alone !== null) lines.push(`bound: ${seconds(task.alone)} alone, ` + (task.limit === "itself" ? "by its own rate" : `by ${words(task.limit)}`));
  if (task.critical) lines.push("on the critical path");
  return lines;
}

