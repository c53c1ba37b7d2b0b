// Updates a screen in place. Elements that stay are reused, so they keep the focus, the selection, open details and the
// hover state. `data-key` identifies an element among siblings that can move.
import { add, listenAs } from "./dom.js";

// Attributes that the user controls, and those of an action that is running.
const kReaders = new Set(["open"]);
const kActing = new Set(["aria-busy", "aria-disabled"]);

function isSame(shown, wanted) {
  return shown.nodeName === wanted.nodeName && shown.dataset?.key === wanted.dataset?.key;
}

function settleAttributes(shown, wanted) {
  const acts = shown.getAttribute("aria-busy") === "true";
  const isLeft = (name) => kReaders.has(name) || (acts && kActing.has(name));
  for (const { name, value } of wanted.attributes) {
    if (!isLeft(name) && shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  }
  for (const { name } of [...shown.attributes]) {
    if (!isLeft(name) && !wanted.hasAttribute(name)) shown.removeAttribute(name);
  }
}

function settleNode(shown, wanted) {
  if (!(shown instanceof Element)) {
    if (shown.data !== wanted.data) shown.data = wanted.data;
    return;
  }
  listenAs(shown, wanted);
  settleAttributes(shown, wanted);
  settleChildren(shown, wanted);
}

// Pairs each of `children` with the first node that is shown and matches it, or null. Unmatched nodes are removed.
function pair(shown, children) {
  const free = [...shown.childNodes];
  const pairs = children.map((child) => {
    const at = free.findIndex((each) => isSame(each, child));
    return [child, at < 0 ? null : free.splice(at, 1)[0]];
  });
  free.forEach((each) => each.remove());
  return pairs;
}

// A node that is moved loses the focus and its scroll position, so nodes that keep their order are never moved. A node
// that must come after its next sibling stays until it is needed.
function settleChildren(shown, wanted) {
  const pairs = pair(shown, [...wanted.childNodes]);
  let at = shown.firstChild;
  for (const [child, found] of pairs) {
    if (found && found === at?.nextSibling) at = found;
    if (found && found === at) at = at.nextSibling;
    else shown.insertBefore(found ?? child, at);
    if (found) settleNode(found, child);
  }
}

// Updates the children of `place` to `children`.
export function settle(place, ...children) {
  settleChildren(place, add(place.cloneNode(false), children));
}

// Keeps items in the order in which they were first shown, so a button does not move before it is clicked. New items
// come last, or first if `newFirst` is set.
export class Places {
  constructor({ newFirst = false } = {}) {
    this.newFirst = newFirst;
    this.keys = [];
  }

  order(items, keyOf) {
    const byKey = new Map(items.map((item) => [keyOf(item), item]));
    const before = this.keys.filter((key) => byKey.has(key));
    const known = new Set(before);
    const fresh = [...byKey.keys()].filter((key) => !known.has(key));
    this.keys = this.newFirst && before.length ? [...fresh, ...before] : [...before, ...fresh];
    return this.keys.map((key) => byKey.get(key));
  }
}
