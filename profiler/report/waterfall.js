// The waterfall: what each second between the bound and the step went to.
function drawWaterfall() {
  const falls = (data.waterfall || []).filter((fall) => fall.step_s > 0 && fall.bound_s > 0);
  if (!falls.length) return;
  const first = falls[0];
  const below = falls.some((fall) => fall.step_s < fall.bound_s);
  const says = below ? "A step is below the bound, which holds for the rates of the profile: they are too low, and sluice probe measures them" : "No schedule of this job beats the bound on this machine";
  const part = section("waterfall", "From the bound to the step", `${says}; it is set by ${words(first.bound_by)}. Each row is what the step takes above it, and why.`);
  const names = first.terms.map((term) => term.name).filter((name, index) => falls.some((fall) => Math.abs(fall.terms[index].seconds) > 0.0005 * fall.step_s));
  const at = falls.map((fall) => fall.bound_s);
  const rows = [{name: `bound, by ${words(first.bound_by)}`, strong: true, from: falls.map(() => 0), to: [...at], values: [...at], color: "--grey"}];
  for (const name of names) {
    const values = falls.map((fall) => fall.terms.find((term) => term.name === name).seconds);
    const from = [...at];
    values.forEach((value, index) => { at[index] += value; });
    rows.push({name: "+ " + name, from, to: [...at], values, color: "--vermilion"});
  }
  rows.push({name: "= step", strong: true, from: falls.map(() => 0), to: falls.map((fall) => fall.step_s), values: falls.map((fall) => fall.step_s), color: "--blue"});
  const high = Math.max(...rows.flatMap((row) => row.to)), unit = timeUnit(high);
  const bars = (cell, row) => {
    const box = element(cell, "div", {class: "steps"});
    falls.forEach((fall, index) => {
      const low = Math.min(row.from[index], row.to[index]);
      const piece = element(element(box, "div", {class: "lane"}), "i", {class: fall.name});
      piece.style.cssText = `left: ${100 * low / high}%; width: max(1px, ${100 * Math.abs(row.to[index] - row.from[index]) / high}%); --swatch: var(${row.color})`;
      withTip(piece, [`${row.name.replace(/^[+=] /, "")}, ${fall.name}`, `${seconds(row.values[index])}, ${share(row.values[index] / fall.step_s)} of the step`]);
    });
  };
  const columns = [{name: "", text: (row) => row.name, left: true}, {name: falls.length > 1 ? "predicted above measured" : "", bar: bars, left: true}];
  falls.forEach((fall, index) => {
    columns.push({name: `${fall.name}, ${unit.name}`, text: (row) => unit.text(row.values[index])});
    columns.push({name: "of the step", text: (row) => share(row.values[index] / fall.step_s)});
  });
  table(panel(part), columns, rows, "Waterfall from the bound to the step");
}

