// Keyboard shortcuts. Single letters can be switched off, because speech input or a tremor may type them by accident.
import { add, button, h } from "./dom.js";

const kOffItem = "millrace.keys-off";
const kSequenceMs = 1200;
let isOff = false;
let registered = null;  // the screens, when the shortcuts are registered

function loadSetting() {
  try {
    isOff = localStorage.getItem(kOffItem) === "1";
  } catch {
    isOff = false;
  }
}

function saveSetting(off) {
  isOff = off;
  try {
    localStorage.setItem(kOffItem, off ? "1" : "0");
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

function isTyping(target) {
  return target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
}

// The letter after `g` that opens a screen: the first letter of its name that no earlier screen uses.
function screenLetters() {
  const byLetter = new Map();
  for (const [name, title] of registered.screens()) {
    const letter = [...name].find((c) => !byLetter.has(c));
    byLetter.set(letter, { name, title });
  }
  return byLetter;
}

export function showKeyboardHelp() {
  if (!registered || document.querySelector("dialog[open]")) return;
  const rows = [["/", "Go to the first filter or field"], ["↑ ↓", "Move between jobs in the list"], ["x", "Select the focused job"],
    ["t", "Switch between light and dark"], ["?", "Show this help"], ...[...screenLetters()].map(([letter, { title }]) => [`g ${letter}`, title])];
  const checkbox = h("input", { type: "checkbox", checked: !isOff, on: { change: () => saveSetting(!checkbox.checked) } });
  const dialog = h("dialog", { "aria-label": "Keyboard shortcuts" });
  add(dialog, h("h2", {}, "Keyboard shortcuts"),
    h("dl", { class: "description-list" }, rows.map(([key, text]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)))),
    h("label", { class: "checkbox-label" }, checkbox, h("span", {}, "Use single-letter shortcuts")),
    h("div", { class: "actions" }, button("Close", () => dialog.close(), { kind: "primary" })));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// `screens()`: pairs of name and title. `isSignedIn()`: whether a user is signed in.
export function registerShortcuts({ screens, switchTheme, isSignedIn }) {
  registered = { screens };
  loadSetting();
  let sequenceStart = 0;
  document.addEventListener("keydown", (event) => {
    if (!isSignedIn() || isOff || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const screen = event.timeStamp - sequenceStart < kSequenceMs && screenLetters().get(event.key);
    sequenceStart = event.key === "g" ? event.timeStamp : 0;
    if (screen) location.hash = `#/${screen.name}`;
    else if (event.key === "/") document.querySelector("#main input:not([type=checkbox]):not([type=file]), #main textarea")?.focus();
    else if (event.key === "?") showKeyboardHelp();
    else if (event.key === "t") switchTheme();
    else return;
    event.preventDefault();
  });
}
