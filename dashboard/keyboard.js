// Keyboard shortcuts. Single letters can be switched off, because speech input or a tremor may type them by accident.
import { add, button, h } from "./dom.js";

const kOff = "millrace.keys-off";
const kSequenceMs = 1200;
let switchedOff = false;
let watched = null;

function readSwitch() {
  try {
    switchedOff = localStorage.getItem(kOff) === "1";
  } catch {
    switchedOff = false;
  }
}

function setSwitch(off) {
  switchedOff = off;
  try {
    localStorage.setItem(kOff, off ? "1" : "0");
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

function isTyping(target) {
  return target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
}

// The letter after `g` that opens a screen: the first letter of its name that no earlier screen uses.
function letters() {
  const taken = new Map();
  for (const [name, title] of watched.screens()) {
    const letter = [...name].find((c) => !taken.has(c));
    taken.set(letter, { name, title });
  }
  return taken;
}

export function showKeyboardHelp() {
  if (!watched || document.querySelector("dialog[open]")) return;
  const rows = [["/", "Go to the first filter or field"], ["↑ ↓", "Move between jobs in the list"], ["x", "Select the focused job"],
    ["t", "Switch between light and dark"], ["?", "Show this help"], ...[...letters()].map(([letter, { title }]) => [`g ${letter}`, title])];
  const box = h("input", { type: "checkbox", checked: !switchedOff, on: { change: () => setSwitch(!box.checked) } });
  const dialog = h("dialog", { "aria-label": "Keyboard shortcuts" });
  add(dialog, h("h2", {}, "Keyboard shortcuts"),
    h("dl", { class: "facts" }, rows.map(([key, text]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)))),
    h("label", { class: "check" }, box, h("span", {}, "Use single-letter shortcuts")),
    h("div", { class: "actions" }, button("Close", () => dialog.close(), { kind: "primary" })));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// `screens()`: pairs of name and title. `isIn()`: whether a user is signed in.
export function watchKeyboard({ screens, switchTheme, isIn }) {
  watched = { screens };
  readSwitch();
  let went = 0;
  document.addEventListener("keydown", (event) => {
    if (!isIn() || switchedOff || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const screen = event.timeStamp - went < kSequenceMs && letters().get(event.key);
    went = event.key === "g" ? event.timeStamp : 0;
    if (screen) location.hash = `#/${screen.name}`;
    else if (event.key === "/") document.querySelector("#main input:not([type=checkbox]):not([type=file]), #main textarea")?.focus();
    else if (event.key === "?") showKeyboardHelp();
    else if (event.key === "t") switchTheme();
    else return;
    event.preventDefault();
  });
}
