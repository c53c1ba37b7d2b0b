// Components that several screens use.
import { add, button, h, icon, setText } from "./dom.js";
import { fullTime, relative } from "./format.js";
import { tellError, toast } from "./toast.js";

export const kTerminal = new Set(["succeeded", "failed", "cancelled", "expired"]);

export const kKindNames = { ocr: "OCR", stt: "Transcription", chat: "Chat", exec: "Execution" };
export function kindName(kind) {
  return kKindNames[kind] ?? kind;
}

// `look`: the CSS class of the colours, if `status` has none.
export function chip(status, look = status) {
  return h("span", { class: `chip ${look}` }, h("span", { class: "dot", "aria-hidden": "true" }), status.replaceAll("_", " "));
}

// How a screen is updated: "live" (by a stream), "asked" (by polling) or "lost" (not connected).
const kLinks = { live: "live", asked: "every few seconds", lost: "connection lost, retrying" };
export function showLink(element, state) {
  element.classList.toggle("is-live", state === "live");
  element.classList.toggle("is-lost", state === "lost");
  setText(element, kLinks[state]);
}

export function linkMark() {
  return h("span", { class: "link", role: "status" });
}

// A name that a client has chosen. It is shown in one line, with its own text direction.
export function nameText(name) {
  return h("bdi", { class: "name", title: name }, name);
}

// Replaces the chip only if its status differs.
export function setChip(element, status) {
  if (element.dataset.status === status) return;
  element.dataset.status = status;
  element.replaceChildren(chip(status));
}

export function when(time) {
  return h("time", { datetime: time, title: fullTime(time) }, relative(time));
}

export async function copyText(text, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    toast(what);
  } catch {
    toast("The browser does not allow this page to copy. Select the text and copy it manually.", { bad: true });
  }
}

// A block of code with its copy button.
export function code(text, label = "Command") {
  return h("div", { class: "code" },
    h("pre", { tabindex: "0", "aria-label": label }, h("code", {}, text)),
    h("button", { type: "button", class: "plain", "aria-label": `Copy: ${label}`, title: "Copy",
      on: { click: () => copyText(text) } }, icon("copy")));
}

// The empty state of a screen: what it will show, and how to start.
export function empty(title, text, ...more) {
  return h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text), more);
}

// Explains that the job waits because its queue is paused.
export function pausedNote(kind) {
  return h("p", { class: "notice warn", role: "status" }, `The queue ${kind} is paused. The job waits until an administrator resumes the queue: `,
    h("code", {}, `millrace queues resume ${kind}`));
}

export function heading(title, about, ...actions) {
  return h("div", { class: "heading" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), about && h("p", { class: "faint" }, about)),
    actions.length ? h("div", { class: "actions" }, actions) : null);
}

// A control with its label.
export function field(label, control, hint) {
  return h("label", { class: "field" }, h("span", {}, label), control, hint && h("small", { class: "faint" }, hint));
}

export function select(options, chosen, onChange, properties = {}) {
  return h("select", { ...properties, on: { change: (event) => onChange(event.target.value) } },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
}

export function card(title, ...children) {
  return h("section", { class: "card" }, title && h("h2", {}, title), children);
}

// A list of pairs of label and value. Pairs without a value are left out.
export function facts(pairs) {
  const list = h("dl", { class: "facts" });
  for (const [word, value] of pairs) {
    if (value !== undefined && value !== null && value !== false && value !== "") add(list, h("div", {}, h("dt", {}, word), h("dd", {}, value)));
  }
  return list;
}

export function save(text, name, type = "text/markdown") {
  const url = URL.createObjectURL(text instanceof Blob ? text : new Blob([text], { type }));
  const anchor = h("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// Asks the user for confirmation. Resolves to true if the user confirms.
export function confirmed(question, detail, yes) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": question });
    const end = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    add(dialog, h("h2", {}, question), h("p", {}, detail),
      h("div", { class: "actions" }, button("Back", () => end(false)), button(yes, () => end(true), { kind: "danger" })));
    dialog.addEventListener("cancel", () => end(false));
    document.body.append(dialog);
    dialog.showModal();
  });
}

export function troubled(error, again) {
  const scope = error.status === 403 ? "Sign in with a key that has this scope, or create one: millrace keys create --scopes …" : "";
  const other = error.status === 404 ? "It has been deleted, or it belongs to another tenant. A key can read only the data of its own tenant." : "";
  if (!error.status && error.code !== "unreachable") tellError(error);
  return h("div", { class: "empty bad", role: "alert" }, h("h2", {}, "The request failed"), h("p", {}, error.message),
    (scope || other) && h("p", { class: "faint" }, scope || other), again && button("Try again", again));
}
