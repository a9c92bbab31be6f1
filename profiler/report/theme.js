// Light and dark: as the system has it, until the reader says otherwise.
const themeListeners = [];
const onTheme = (callback) => themeListeners.push(callback);
const themeChanged = () => { colors.clear(); for (const callback of themeListeners) callback(); };
const colors = new Map();
function css(name) {
  if (!colors.has(name)) colors.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return colors.get(name);
}
/** White or black, whichever reads better on a colour "#rrggbb". */
function inkOn(color) {
  const part = (at) => { const c = parseInt(color.slice(at, at + 2), 16) / 255; return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4); };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) > 0.32 ? "#111111" : "#ffffff";
}
function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  themeChanged();
}
function startTheme() {
  let kept = null;
  try { kept = localStorage.getItem("sluice-theme"); } catch (refused) { kept = null; }
  const first = ["light", "dark"].includes(kept) ? kept : "system";
  choice(byId("theme"), "Colours", [["system", "System"], ["light", "Light"], ["dark", "Dark"]], first, (name) => {
    try { localStorage.setItem("sluice-theme", name); } catch (refused) { /* The page forgets it. */ }
    setTheme(name);
  });
  setTheme(first);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
  // Paper is white.
  let before = null;
  addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme || "system"; setTheme("light"); });
  addEventListener("afterprint", () => { if (before) setTheme(before); before = null; });
}
// Okabe and Ito's colours, told apart by readers who see few of them.
const kKindColor = {
  forward: "--blue", backward: "--sky", loss: "--purple", recompute: "--orange", norm: "--slate", combine: "--slate", sum_groups: "--slate",
  load_weights: "--yellow", load_gradient: "--rose", store_gradient: "--vermilion", load_activation: "--pink",
  save_activation: "--pink", load_state: "--wine", store_state: "--wine", update: "--green",
  read_weights: "--yellow", write_weights: "--yellow", read_state: "--wine", write_state: "--wine", read_gradient: "--rose", write_gradient: "--vermilion",
};
const kindColor = (kind) => kKindColor[kind] || "--grey";

