// The tasks of one step, by row (predicted, measured) and lane, in the order they start.
function timelineRows(line) {
  const rows = line.rows.map((row) => {
    const lanes = line.lanes.map(() => []);
    row.start_ns.forEach((start, index) => lanes[row.lane[index]].push(index));
    const position = new Map();  // Of each id, where its task lies in the row's columns.
    row.id.forEach((id, index) => position.set(id, index));
    return {...row, lanes, position};
  });
  const lookUp = (row, index) => ({
    row, index, name: line.ids[row.id[index]], lane: line.lanes[row.lane[index]], kind: line.kinds[row.kind[index]],
    start: row.start_ns[index] / 1e9, end: row.end_ns[index] / 1e9, bytes: row.bytes[index], critical: row.critical[index] === 1,
    tasks: row.count ? row.count[index] : 1, busy: row.busy_ns ? row.busy_ns[index] / 1e9 : null,
    alone: row.alone_ns[index] === null ? null : row.alone_ns[index] / 1e9,
    limit: row.limit[index] === null ? null : line.limits[row.limit[index]],
  });
  return {
    line, rows, lookUp,
    period: Math.max(1e-9, ...rows.map((row) => row.period_s)),
    /** The same task in the other row, if it is there. */
    other(task) {
      const row = rows.find((each) => each !== task.row);
      const index = row && task.tasks === 1 ? row.position.get(task.row.id[task.index]) : undefined;
      return index === undefined ? null : lookUp(row, index);
    },
    /** First place of a lane's list whose task ends after `time`. */
    firstEndingAfter(row, lane, time) {
      const list = row.lanes[lane];
      let low = 0, high = list.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (row.end_ns[list[middle]] / 1e9 > time) high = middle; else low = middle + 1;
      }
      return low;
    },
    at(row, lane, time, slack) {
      const list = row.lanes[lane];
      for (let i = this.firstEndingAfter(row, lane, time - slack); i < list.length; ++i) {
        if (row.start_ns[list[i]] / 1e9 > time + slack) return null;
        return lookUp(row, list[i]);
      }
      return null;
    },
    /** Positions of tasks whose name or kind holds `text`, by row. */
    matching(text) {
      const wanted = text.toLowerCase();
      const ids = line.ids.map((id) => id.toLowerCase().includes(wanted));
      const kinds = line.kinds.map((kind) => words(kind).includes(wanted) || kind.includes(wanted));
      return rows.map((row) => row.id.map((id, index) => index).filter((index) => ids[row.id[index]] || kinds[row.kind[index]]));
    },
  };
}

/** What there is to say of a task, the name first. */
function taskLines(model, task) {
  const lines = [task.name + (task.tasks > 1 ? ` and ${count(task.tasks - 1)} more` : ""), `${words(task.kind)} on ${task.lane}`];
  const other = model.other(task);
  for (const each of other ? [task, other].sort((a, b) => model.rows.indexOf(a.row) - model.rows.indexOf(b.row)) : [task]) {
    lines.push(`${each.row.name}: ${seconds(each.end - each.start)}, from ${instant(each.start)}`);
  }
  if (other) {
    const [predicted, measured] = task.row.name === "predicted" ? [task, other] : [other, task];
    const took = measured.end - measured.start, expected = predicted.end - predicted.start;
    if (took > 0) lines.push(`prediction error: ${percent(expected / took - 1)}`);
  }
  if (task.busy !== null && task.tasks > 1) lines.push(`${count(task.tasks)} tasks, together ${seconds(task.busy)}`);
  if (task.bytes > 0) lines.push(`${bytes(task.bytes)}` + (task.tasks === 1 ? `, ${rate(task.bytes / (task.end - task.start))}` : ""));
  if (task.alone !== null) lines.push(`bound: ${seconds(task.alone)} alone, ` + (task.limit === "itself" ? "by its own rate" : `by ${words(task.limit)}`));
  if (task.critical) lines.push("on the critical path");
  return lines;
}

