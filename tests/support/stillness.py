"""Checks that what a screen shows does not move while it changes."""

from still import SETTLED

# Positions of all elements of the screen, keyed by their path in the tree: an element that is created again counts as the
# same one. An element that grows to the right, to the left or equally to both sides has not moved. Positions are compared after
# each change of the tree, after each load event, and when the screen changes its size.
WATCH = """
const main = document.getElementById('main');
const step = (e) => e.dataset.key ? `${e.tagName}[${e.dataset.key}]`
  : `${e.tagName}:${[...e.parentElement.children].filter((c) => c.tagName === e.tagName).indexOf(e)}`;
const way = (e) => e === main ? '' : `${way(e.parentElement)} ${step(e)}`;
const places = () => new Map([...main.querySelectorAll('*')].filter((e) => !e.closest('svg') || e.tagName === 'svg').flatMap((e) => {
  const { left, right, top, width, height } = e.getBoundingClientRect();
  return width > 1 && height > 1 ? [[way(e), { left: left + scrollX, right: right + scrollX, top: top + scrollY, text: e.textContent.slice(0, 60) }]] : [];
}));
window.stillness?.end();
const shifted = (then, now) => [now.left - then.left, now.right - then.right, (now.left + now.right - then.left - then.right) / 2]
  .every((by) => Math.abs(by) > 1);
const first = places();
const moved = new Map();
let looks = 0;
const look = () => {
  for (const [at, now] of places()) {
    const then = first.get(at);
    if (!then) first.set(at, now);
    else if (Math.abs(then.top - now.top) > 1 || shifted(then, now)) moved.set(at, [then, now]);
  }
};
const watcher = new MutationObserver(() => {
  ++looks;
  look();
});
watcher.observe(main, { subtree: true, childList: true, characterData: true, attributes: true });
const sizes = new ResizeObserver(look);
sizes.observe(main);
main.addEventListener('load', look, true);
window.stillness = { looks: () => looks, moved: () => {
  look();
  return [...moved].map(([at, places]) => `${at}: ${JSON.stringify(places)}`);
}, end: () => {
  [watcher, sizes].forEach((each) => each.disconnect());
  main.removeEventListener('load', look, true);
} };
"""


class Stillness:
    """Watches the whole screen from its construction on, also what is out of view (still.py: what a reader sees)."""

    def __init__(self, page):
        self.page = page
        page.run_async(SETTLED)
        page.run(WATCH)

    def holds(self):
        """Fails unless something has changed since then and nothing has moved."""
        self.page.run_async(SETTLED)
        moved = self.page.run("return stillness.moved()")
        assert moved == [], "\n".join(moved)
        assert self.page.run("return stillness.looks()") > 0, "nothing has changed"
