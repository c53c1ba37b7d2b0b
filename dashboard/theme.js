// Before the first paint: the theme that was chosen last, else what the system prefers.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("millrace.theme");
  } catch {
    // A browser without storage follows the system.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
