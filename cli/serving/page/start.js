// One part of the page is shown at a time: the one that the address names.
function showPart() {
  const parts = [...document.querySelectorAll("section[id]")];
  const chosen = parts.find((part) => "#" + part.id === location.hash) || parts[0];
  for (const part of parts) part.hidden = part !== chosen;
  for (const link of byId("contents").children) {
    if (link.getAttribute("href") === "#" + chosen.id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  chosen.dispatchEvent(new Event("shown"));
}

(async () => {
  startTheme();
  try {
    const catalogue = await asked("api/catalogue");
    startPredicting(catalogue);
    startBuying(catalogue);
    startRuns();
    startCatalogue(catalogue);
    addEventListener("hashchange", showPart);
    showPart();
  } catch (failure) {
    element(byId("main"), "p", {class: "said failed", role: "alert"}, failure.message);
  }
  document.documentElement.dataset.drawn = "yes";
})();
