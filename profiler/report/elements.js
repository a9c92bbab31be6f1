"use strict";
// Elements of the page. All text goes in through textContent.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const kSvg = "http://www.w3.org/2000/svg";

function made(parent, node, attributes, text) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}
const element = (parent, tag, attributes = {}, text = null) => made(parent, document.createElement(tag), attributes, text);
const shape = (parent, tag, attributes = {}, text = null) => made(parent, document.createElementNS(kSvg, tag), attributes, text);

/** A part of the page with its heading, a line of what is seen, and an entry in the contents. */
function section(id, title, seen) {
  const part = element(byId("main"), "section", {id, "aria-labelledby": id + "-title"});
  element(part, "h2", {id: id + "-title"}, title);
  if (seen) element(part, "p", {class: "muted seen"}, seen);
  element(byId("contents"), "a", {href: "#" + id}, title);
  return part;
}
const panel = (part, kind = "") => element(part, "div", {class: ("panel " + kind).trim()});

function card(parent, name, value, note, tone = "") {
  const box = element(parent, "div", {class: "card"});
  element(box, "div", {class: "name"}, name);
  element(box, "div", {class: ("value " + tone).trim()}, value);
  element(box, "div", {class: "note"}, note);
}

/** A legend; `entries` are [text, custom property of its colour, class of the swatch]. */
function legend(parent, entries) {
  const box = element(parent, "div", {class: "legend"});
  for (const [name, color, kind] of entries) {
    const entry = element(box, "span");
    element(entry, "i", kind ? {class: kind} : {}).style.setProperty("--swatch", `var(${color})`);
    entry.appendChild(document.createTextNode(name));
  }
  return box;
}

/** Number of rows above which a table scrolls by itself, under its heads. */
const kLongTable = 40;
/**
 * `columns`: {name, text: (row) => string, bar: (cell, row) => void, left: bool}; a column with `bar` draws into its cell. A column
 * with `key: (row) => number or string` can be sorted by.
 */
function table(parent, columns, rows, caption) {
  const box = element(parent, "div", {class: rows.length > kLongTable ? "scroll long" : "scroll", tabindex: "0", role: "region", "aria-label": caption});
  const made = element(box, "table");
  element(made, "caption", {class: "hidden"}, caption);
  const head = element(element(made, "thead"), "tr");
  const body = element(made, "tbody");
  const fill = (list) => {
    body.textContent = "";
    for (const row of list) {
      const line = element(body, "tr", row.strong ? {class: "strong"} : {});
      columns.forEach((column, index) => {
        const cell = element(line, index === 0 ? "th" : "td", {class: [column.left ? "left" : "", column.bar ? "bar" : "", column.kind || ""].join(" ").trim()});
        if (index === 0) cell.setAttribute("scope", "row");
        if (column.bar) column.bar(cell, row);
        else cell.textContent = column.text(row);
      });
    }
  };
  let sorted = null, down = false;
  columns.forEach((column, index) => {
    const cell = element(head, "th", {scope: "col", class: column.left || index === 0 ? "left" : column.middle ? "middle" : ""}, column.key ? null : column.name);
    if (!column.key) return;
    const button = element(cell, "button", {type: "button", class: "sort"}, column.name);
    button.addEventListener("click", () => {
      down = sorted === column ? !down : false;
      sorted = column;
      for (const other of head.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = [...rows].sort((a, b) => {
        const x = column.key(a), y = column.key(b);
        if (x === null || y === null) return (x === null) - (y === null);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      fill(order);
    });
  });
  fill(rows);
  return made;
}

/** A group of buttons of which one is pressed; `choices` are [value, text]. */
function choice(parent, label, choices, chosen, changed) {
  const group = element(parent, "div", {class: "switch", role: "group", "aria-label": label});
  const press = (value) => {
    for (const button of group.children) button.setAttribute("aria-pressed", String(button.dataset.value === value));
  };
  for (const [value, text] of choices) {
    const button = element(group, "button", {type: "button", "data-value": value}, text);
    button.addEventListener("click", () => { press(value); changed(value); });
  }
  press(chosen);
  return group;
}

function showTip(event, lines) {
  const tip = byId("tip");
  tip.textContent = "";
  lines.forEach((line, index) => element(tip, "div", index === 0 ? {class: "first"} : {}, line));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const x = event.clientX + 14 + box.width > innerWidth ? event.clientX - box.width - 14 : event.clientX + 14;
  tip.style.left = Math.max(8, x) + "px";
  tip.style.top = Math.max(8, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + "px";
}
const hideTip = () => { byId("tip").hidden = true; };
function withTip(node, lines) {
  node.addEventListener("pointermove", (event) => showTip(event, lines));
  node.addEventListener("pointerleave", hideTip);
}

