// What the program knows by name.
function startCatalogue({models, machines}) {
  const part = section("catalogue", "Catalogue", "Machines and models that have a name; sluice machines show NAME has the source of every number.");
  const controls = element(part, "div", {class: "controls"});
  const search = element(controls, "input", {type: "search", placeholder: "name or architecture", "aria-label": "Search the catalogue"});
  const lists = element(part, "div");
  function draw() {
    const has = (...texts) => texts.some((text) => text.toLowerCase().includes(search.value.toLowerCase()));
    lists.textContent = "";
    table(panel(lists), [
      {name: "machine", text: (row) => row.name, key: (row) => row.name, left: true},
      {name: "architecture", text: (row) => row.architecture, key: (row) => row.architecture},
      {name: "device memory", text: (row) => bytes(row.hbm_bytes), key: (row) => row.hbm_bytes},
      {name: "host memory", text: (row) => bytes(row.host_bytes), key: (row) => row.host_bytes},
      {name: "link", text: (row) => rate(row.h2d_bytes_per_s), key: (row) => row.h2d_bytes_per_s},
      {name: "bf16 peak", text: (row) => (row.peak_bf16_flop_per_s / 1e12).toPrecision(3) + " TFLOP/s", key: (row) => row.peak_bf16_flop_per_s},
      {name: "numbers measured", text: (row) => String(row.sources.measured ?? 0), key: (row) => row.sources.measured ?? 0},
    ], machines.machines.filter((one) => has(one.name, one.architecture)), "Machines");
    table(panel(lists), [
      {name: "model", text: (row) => row.name, key: (row) => row.name, left: true},
      {name: "family", text: (row) => row.family, key: (row) => row.family},
      {name: "parameters", text: (row) => (row.parameters / 1e9).toPrecision(3) + " G", key: (row) => row.parameters},
      {name: "state", text: (row) => bytes(row.state_bytes), key: (row) => row.state_bytes},
      {name: "layers", text: (row) => String(row.layers), key: (row) => row.layers},
      {name: "hidden", text: (row) => String(row.hidden), key: (row) => row.hidden},
      {name: "vocabulary", text: (row) => count(row.vocab), key: (row) => row.vocab},
    ], models.models.filter((one) => has(one.name, one.family)), "Models");
  }
  search.addEventListener("input", draw);
  draw();
}
