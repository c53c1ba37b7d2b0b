"""Checks that what a reader looks at does not move while a screen updates."""

WATCH = """
window.moves?.observer.disconnect();
const seen = (window.moves = { list: [] });
const text = (node) => (node?.nodeType === 1 ? `<${node.localName} class="${node.className}">` : '') + String(node?.textContent ?? '').slice(0, 60);
seen.take = (entries) => entries.filter((e) => !e.hadRecentInput).forEach((e) => e.sources.forEach(({ node, previousRect: a, currentRect: b }) => {
  const blank = node?.nodeType === 3 && !node.data.trim();
  if (!blank && !(node?.nodeType === 1 ? node : node?.parentElement)?.closest(arguments[0]))
    seen.list.push(`${text(node)}: ${Math.round(a.x)},${Math.round(a.y)} to ${Math.round(b.x)},${Math.round(b.y)}`);
}));
seen.observer = new PerformanceObserver((list) => seen.take(list.getEntries()));
seen.observer.observe({ type: 'layout-shift' });
"""
TOPS = "return arguments[0].map((css) => [...document.querySelectorAll(css)].map((e) => Math.round(e.getBoundingClientRect().top + scrollY)).join())"
SETTLED = "const done = arguments[arguments.length - 1]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))"


class Still:
    """Watches the page from its construction on; `check` fails if something has moved. Moves within `apart` (a selector) are
    ignored. `places` are selectors of elements that must keep their distance from the top of the page."""

    def __init__(self, page, places, apart="#toasts"):
        self.page, self.places = page, places
        page.run_async(SETTLED)
        page.run(WATCH, apart)
        self.tops = self.now()

    def now(self):
        tops = dict(zip(self.places, self.page.run(TOPS, self.places)))
        assert all(tops.values()), f"no element matches: {tops}"
        return tops

    def check(self):
        self.page.run_async(SETTLED)
        moved = self.page.run("moves.take(moves.observer.takeRecords()); return moves.list")
        assert moved == [], "moved:\n" + "\n".join(moved)
        now = self.now()
        assert now == self.tops, "moved: " + "; ".join(f"{css} from {self.tops[css]} to {now[css]}" for css in now if now[css] != self.tops[css])
