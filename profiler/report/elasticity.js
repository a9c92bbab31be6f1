// Elasticities: how much a step would gain from more of each of the machine's resources.
function drawElasticities() {
  const rows = [...(data.elasticities || [])].sort((a, b) => a.value - b.value);
  if (!rows.length) return;
  const part = section("elasticities", "What a faster machine would change",
    "The same plan, predicted with a tenth more of one rate at a time. An elasticity of −1 means that the step is shorter in proportion, 0 that nothing changes. More memory changes a step only through another plan (sluice plan).");
  const most = Math.max(...rows.map((row) => Math.abs(row.value)), 0.05);
  table(panel(part), [
    {name: "ten per cent more", text: (row) => row.meaning, left: true},
    {name: "elasticity", text: (row) => signed(Math.abs(row.value).toFixed(3), row.value).replace(/^[+−]0\.000$/, "0.000")},
    {name: "step", text: (row) => percent(Math.pow(1.1, row.value) - 1).replace(/^[+−]0\.0 %$/, "0.0 %")},
    {name: "shorter", left: true, bar: (cell, row) => {
      const piece = element(element(cell, "div", {class: "plain"}), "i");
      piece.style.cssText = `width: ${100 * Math.max(0, -row.value) / most}%; --swatch: var(--green)`;
    }},
  ], rows, "Elasticities of the step time");
}

