// Creates elements. Text becomes text nodes; no code of the dashboard parses HTML.

const kSvg = "http://www.w3.org/2000/svg";

// Event handlers: element → {types, handlers}. When update_in_place.js updates an element, the element gets the new
// handlers.
const listeners = new WeakMap();

function listen(element, handlers) {
  const entry = listeners.get(element) ?? { types: new Set() };
  listeners.set(element, entry);
  entry.handlers = handlers;
  for (const type of Object.keys(handlers)) {
    if (entry.types.has(type)) continue;
    entry.types.add(type);
    element.addEventListener(type, (event) => entry.handlers[type]?.(event));
  }
}

// Gives `element` the handlers of `other`, in place of its own.
export function copyListeners(element, other) {
  if (listeners.has(element) || listeners.has(other)) listen(element, listeners.get(other)?.handlers ?? {});
}

function setProperty(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "class") element.setAttribute("class", value);
  else if (name === "on") listen(element, value);
  else if (name === "data") Object.assign(element.dataset, value);
  else if (name === "value") element.value = value;
  else if (name === "checked" || name === "disabled" || name === "hidden") element[name] = Boolean(value);
  else element.setAttribute(name, value === true ? "" : String(value));
}

// Children: nodes, text, numbers, lists of these; null, undefined and false are left out.
export function add(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) setProperty(element, name, value);
  return add(element, children);
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(kSvg, tag);
  for (const [name, value] of Object.entries(attributes)) setProperty(element, name, value);
  return add(element, children);
}

// Replaces the children.
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

// Replaces the text only if it differs. This avoids flicker and keeps selections.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const kIcons = {
  overview: "M4 19h16M6 16v-5M11 16V6M16 16v-8",
  jobs: "M5 6h14M5 12h14M5 18h9",
  batches: "M4 5h10M4 10h10M4 15h6M13 16l3 3 5-6",
  download: "M12 4v10m0 0 4-4m-4 4-4-4M5 19h14",
  playground: "M5 5h14v10H10l-5 4z",
  machines: "M4 6h16v10H4zM9 20h6M12 16v4",
  models: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  workers: "M7 8a3 3 0 1 0 0-.01M17 8a3 3 0 1 0 0-.01M3 19c0-3 2-5 4-5s4 2 4 5M13 19c0-3 2-5 4-5s4 2 4 5",
  dead_letters: "M4 6h16v12H4zM4 7l8 6 8-6",
  keys: "M8 15a4 4 0 1 1 3.5-6H20v3h-2v3h-3v-3h-3.5A4 4 0 0 1 8 15z",
  usage: "M4 18a8 8 0 1 1 16 0M12 18l4-6",
  docs: "M6 4h9l4 4v12H6zM14 4v5h5M9 13h7M9 16.5h5",
  menu: "M4 7h16M4 12h16M4 17h16",
  theme: "M12 4a8 8 0 1 0 8 8 6 6 0 0 1-8-8z",
  sign_out: "M10 5H5v14h5M14 8l4 4-4 4M18 12H9",
  help: "M9 9a3 3 0 1 1 4 2.8c-.8.4-1 .9-1 1.7M12 17v.01",
  copy: "M9 9h10v11H9zM5 15V4h10",
  stop: "M7 7h10v10H7z",
  send: "M5 12h14M13 6l6 6-6 6",
};

export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: kIcons[name] }));
}

export function button(label, onClick, { kind = "", iconName = "", ...rest } = {}) {
  return h("button", { type: "button", class: `button ${kind}`, on: { click: onClick }, ...rest },
    iconName && icon(iconName), h("span", {}, label));
}
