// What a screen shows, changed in its place: an element that stays is the same element, with the keyboard, the
// selection, what is opened and what hovers over it. `data-key` names what moves among its like.
import { add, listenAs } from "./dom.js";

// Attributes that are the reader's own, and those of an act that is under way.
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

// Which of what is shown becomes each of `children`: the first of its like, or none. The others go.
function pair(shown, children) {
  const free = [...shown.childNodes];
  const pairs = children.map((child) => {
    const at = free.findIndex((each) => isSame(each, child));
    return [child, at < 0 ? null : free.splice(at, 1)[0]];
  });
  free.forEach((each) => each.remove());
  return pairs;
}

// What is moved loses the keyboard, and how far it is scrolled: what stays in its order is never moved. One that the
// next one overtakes waits behind for its turn.
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

// Makes the children of `place` what they shall be.
export function settle(place, ...children) {
  settleChildren(place, add(place.cloneNode(false), children));
}

// Things in the order in which they were first shown, whatever else they are sorted by: what is about to be clicked
// does not move. New ones come last, or first.
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
