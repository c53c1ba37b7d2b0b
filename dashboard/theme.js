// Applies the theme that was chosen last, before the first paint. Without one, the system's preference applies.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("millrace.theme");
  } catch {
    // Without storage the system's preference applies.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
