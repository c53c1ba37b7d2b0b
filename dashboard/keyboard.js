// Keyboard shortcuts. Single letters can be switched off, for those whose speech or tremor would type them.
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
    // It holds until the page is left.
  }
}

function isTyping(target) {
  return target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
}

// The letter that goes to a screen after `g`: the first of its name that no screen before it has.
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
  const rows = [["/", "Go to the first filter or field"], ["↑ ↓", "From job to job in the list"], ["x", "Choose the job that has the keyboard"],
    ["t", "Light or dark"], ["?", "This help"], ...[...letters()].map(([letter, { title }]) => [`g ${letter}`, title])];
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

// `screens()`: pairs of a name and a title. `isIn()`: somebody has signed in.
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
