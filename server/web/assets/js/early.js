// Runs before the first paint, so that a chosen theme does not flash. Everything else is in modules.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem('flashlane.theme');
  } catch { /* storage is off: the system's theme it is */ }
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
})();
