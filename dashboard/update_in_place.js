// Updates a screen in place. Elements that stay are reused, so they keep the focus, the selection, open details and the
// hover state. `data-key` identifies an element among siblings that can move.
import { add, copyListeners } from "./dom.js";

// Attributes that the user controls, and attributes of a running action (toast.js).
const kUserAttributes = new Set(["open"]);
const kBusyAttributes = new Set(["aria-busy", "aria-disabled"]);

function isSame(current, target) {
  return current.nodeName === target.nodeName && current.dataset?.key === target.dataset?.key;
}

function updateAttributes(current, target) {
  const isBusy = current.getAttribute("aria-busy") === "true";
  const isKept = (name) => kUserAttributes.has(name) || (isBusy && kBusyAttributes.has(name));
  for (const { name, value } of target.attributes) {
    if (!isKept(name) && current.getAttribute(name) !== value) current.setAttribute(name, value);
  }
  for (const { name } of [...current.attributes]) {
    if (!isKept(name) && !target.hasAttribute(name)) current.removeAttribute(name);
  }
}

function updateNode(current, target) {
  if (!(current instanceof Element)) {
    if (current.data !== target.data) current.data = target.data;
    return;
  }
  copyListeners(current, target);
  updateAttributes(current, target);
  updateChildren(current, target);
}

// Pairs each of `children` with the first current node that matches it, or null. Unmatched nodes are removed.
function matchChildren(current, children) {
  const unmatched = [...current.childNodes];
  const pairs = children.map((child) => {
    const index = unmatched.findIndex((each) => isSame(each, child));
    return [child, index < 0 ? null : unmatched.splice(index, 1)[0]];
  });
  unmatched.forEach((each) => each.remove());
  return pairs;
}

// A node that is moved loses the focus and its scroll position, so nodes that keep their order are never moved. A node
// that must come after its next sibling stays until it is needed.
function updateChildren(current, target) {
  const pairs = matchChildren(current, [...target.childNodes]);
  let next = current.firstChild;
  for (const [child, match] of pairs) {
    if (match && match === next?.nextSibling) next = match;
    if (match && match === next) next = next.nextSibling;
    else current.insertBefore(match ?? child, next);
    if (match) updateNode(match, child);
  }
}

// Updates the children of `container` to `children`.
export function updateInPlace(container, ...children) {
  updateChildren(container, add(container.cloneNode(false), children));
}

// Keeps items in the order in which they were first shown, so a button does not move before it is clicked. New items
// come last, or first if `newFirst` is set.
export class StableOrder {
  constructor({ newFirst = false } = {}) {
    this.newFirst = newFirst;
    this.keys = [];
  }

  apply(items, keyOf) {
    const byKey = new Map(items.map((item) => [keyOf(item), item]));
    const kept = this.keys.filter((key) => byKey.has(key));
    const known = new Set(kept);
    const added = [...byKey.keys()].filter((key) => !known.has(key));
    this.keys = this.newFirst && kept.length ? [...added, ...kept] : [...kept, ...added];
    return this.keys.map((key) => byKey.get(key));
  }
}
