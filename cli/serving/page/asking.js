// Questions to the program behind this page, and forms that ask them.
async function asked(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const answer = await fetch(path + (given.length ? "?" + new URLSearchParams(given) : ""));
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

/**
 * A form whose fields are {name, label, choices, value, hint}; a field with choices is a list, else a text. `answered` gets the
 * values and a function that says how far it is; what it throws is said below the form.
 */
function askingForm(part, id, fields, button, answered) {
  const form = element(panel(part), "form", {id});
  for (const {name, label, choices, value = "", hint = ""} of fields) {
    const box = element(form, "label", {}, label);
    if (choices) {
      const list = element(box, "select", {name});
      for (const choice of choices) element(list, "option", choice === value ? {value: choice, selected: ""} : {value: choice}, choice || "any");
    } else {
      element(box, "input", {name, value, placeholder: hint, autocomplete: "off"});
    }
  }
  const press = element(form, "button", {type: "submit"}, button);
  const said = element(form.parentElement, "p", {class: "said muted", role: "status"});
  const say = (text, failed = false) => { said.textContent = text; said.classList.toggle("failed", failed); };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    press.disabled = true;
    const began = performance.now(), clock = setInterval(() => say(`computing, ${Math.round((performance.now() - began) / 1000)} s`), 500);
    say("computing");
    try {
      await answered(Object.fromEntries(new FormData(form)));
      say(`answered in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    } catch (failure) {
      say(failure.message, true);
    } finally {
      clearInterval(clock);
      press.disabled = false;
    }
  });
  return form;
}

const runFields = (catalogue) => [
  {name: "model", label: "Model", choices: catalogue.models.models.map((one) => one.name), value: "qwen3-8b"},
  {name: "seq-len", label: "Tokens of a sequence", value: "4096"},
  {name: "batch-size", label: "Sequences a step", value: "16"},
  {name: "tokens", label: "Tokens in all", hint: "50M"},
];
const dollars = (value) => value === null || value === undefined ? "–" : "$" + (value >= 100 ? count(value) : value.toFixed(2));
const daysText = (days) => days === null || days === undefined ? "–" : days < 1.5 ? (24 * days).toPrecision(3) + " hours" : days.toPrecision(3) + " days";
