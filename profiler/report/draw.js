"use strict";
// Draws the page from the JSON in #data. All text goes in through textContent.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const kSvg = "http://www.w3.org/2000/svg";

function element(parent, tag, attributes = {}, text = null) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  parent.appendChild(made);
  return made;
}
function shape(parent, tag, attributes = {}, text = null) {
  const made = document.createElementNS(kSvg, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  parent.appendChild(made);
  return made;
}
function seconds(value) {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-3) return (value * 1e6).toPrecision(3) + " µs";
  if (size < 1) return (value * 1e3).toPrecision(size < 0.1 ? 3 : 4) + " ms";
  return value.toPrecision(4) + " s";
}
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; ++unit; }
  return (unit === 0 ? value : value.toPrecision(3)) + " " + units[unit];
}
const percent = (ratio) => (ratio >= 0 ? "+" : "−") + Math.abs(ratio * 100).toFixed(1) + " %";
const hide = (id) => { byId(id).hidden = true; };

function showTip(event, text) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.min(event.clientX + 14, innerWidth - box.width - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, innerHeight - box.height - 8) + "px";
}
const hideTip = () => { byId("tip").hidden = true; };
function withTip(node, text) {
  node.addEventListener("mousemove", (event) => showTip(event, text));
  node.addEventListener("mouseleave", hideTip);
}
function legend(id, entries) {
  const box = byId(id);
  box.textContent = "";
  for (const [name, color] of entries) {
    const entry = element(box, "span");
    element(entry, "i").style.background = `var(${color})`;
    entry.appendChild(document.createTextNode(name));
  }
}

