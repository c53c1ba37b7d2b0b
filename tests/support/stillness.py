"""Whether what a screen shows stays where it is while it changes."""

from still import SETTLED

# Places of all elements of the screen, by their way down to it: elements that are made anew count as the same. What
# grows to the right, to the left or to both sides alike has not moved. Looked at after each change, what is loaded
# and what grows without one, too.
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
const aside = (then, now) => [now.left - then.left, now.right - then.right, (now.left + now.right - then.left - then.right) / 2].every((by) => Math.abs(by) > 1);
const first = places();
const moved = new Map();
let looks = 0;
const look = () => {
  for (const [at, now] of places()) {
    const then = first.get(at);
    if (!then) first.set(at, now);
    else if (Math.abs(then.top - now.top) > 1 || aside(then, now)) moved.set(at, [then, now]);
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
    """From now on, of all of the screen: what is out of sight, too (still.py: what a reader sees)."""

    def __init__(self, page):
        self.page = page
        page.run_async(SETTLED)
        page.run(WATCH)

    def holds(self):
        """That something has changed since, and nothing has moved."""
        self.page.run_async(SETTLED)
        moved = self.page.run("return stillness.moved()")
        assert moved == [], "\n".join(moved)
        assert self.page.run("return stillness.looks()") > 0, "nothing has changed"
