// Draws every section that has data.
drawHead();
drawTimeline();
drawWaterfall();
drawMemory();
drawRows("kinds", data.kinds, "kinds-section");
drawRows("lanes", data.lanes, "lanes-section");
const unigram = data.loss.unigram > 0 ? [{name: `unigram entropy of the text (${data.loss.unigram.toFixed(3)} nats)`, value: data.loss.unigram, color: "--red"}] : [];
if (!drawCurves("loss", [{name: "training", points: data.loss.train, color: "--blue"}, {name: "validation", points: data.loss.validation, color: "--orange"}],
                unigram, {value: (value) => value.toFixed(2)})) hide("loss-section");
const level = data.headline.predicted_s > 0 ? [{name: "predicted", value: data.headline.predicted_s, color: "--orange"}] : [];
if (!drawCurves("steps", [{name: "measured", points: data.steps, color: "--blue"}], level, {value: seconds, zero: true})) hide("steps-section");
const environment = element(element(byId("environment"), "table"), "tbody");
for (const [name, value] of data.environment) {
  const row = element(environment, "tr");
  element(row, "td", {}, name);
  element(row, "td", {}, value);
}
