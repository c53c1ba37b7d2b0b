// Components that several screens use.
import { add, button, h, icon, setText } from "./dom.js";
import { fullTime, relative } from "./format.js";
import { showError, toast } from "./toast.js";

export const kTerminal = new Set(["succeeded", "failed", "cancelled", "expired"]);

export const kKindNames = { ocr: "OCR", stt: "Transcription", chat: "Chat", exec: "Execution" };
export function kindName(kind) {
  return kKindNames[kind] ?? kind;
}

// `className`: the CSS class of the colours, if `status` has none.
export function chip(status, className = status) {
  return h("span", { class: `chip ${className}` }, h("span", { class: "dot", "aria-hidden": "true" }), status.replaceAll("_", " "));
}

// How a screen is updated: "live" (by a stream), "polling" or "lost" (not connected).
const kConnectionTexts = { live: "live", polling: "every few seconds", lost: "connection lost, retrying" };
export function showConnection(element, state) {
  element.classList.toggle("is-live", state === "live");
  element.classList.toggle("is-lost", state === "lost");
  setText(element, kConnectionTexts[state]);
}

export function connectionStatus() {
  return h("span", { class: "connection", role: "status" });
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

export function timeElement(time) {
  return h("time", { datetime: time, title: fullTime(time) }, relative(time));
}

export async function copyText(text, message = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    toast(message);
  } catch {
    toast("The browser does not allow this page to copy. Select the text and copy it manually.", { isError: true });
  }
}

// A block of code with a copy button.
export function code(text, label = "Command") {
  return h("div", { class: "code" },
    h("pre", { tabindex: "0", "aria-label": label }, h("code", {}, text)),
    h("button", { type: "button", class: "plain", "aria-label": `Copy: ${label}`, title: "Copy",
      on: { click: () => copyText(text) } }, icon("copy")));
}

// The empty state of a screen: what it will show, and how to start.
export function emptyState(title, text, ...more) {
  return h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text), more);
}

// Explains that the job waits because its queue is paused.
export function pausedNote(kind) {
  return h("p", { class: "notice warn", role: "status" }, `The queue ${kind} is paused. The job waits until an administrator resumes the queue: `,
    h("code", {}, `millrace queues resume ${kind}`));
}

export function heading(title, about, ...actions) {
  return h("div", { class: "heading" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), about && h("p", { class: "muted" }, about)),
    actions.length ? h("div", { class: "actions" }, actions) : null);
}

// A control with its label.
export function field(label, control, hint) {
  return h("label", { class: "field" }, h("span", {}, label), control, hint && h("small", { class: "muted" }, hint));
}

export function select(options, selected, onChange, properties = {}) {
  return h("select", { ...properties, on: { change: (event) => onChange(event.target.value) } },
    options.map(([value, text]) => h("option", { value, selected: value === selected }, text)));
}

export function card(title, ...children) {
  return h("section", { class: "card" }, title && h("h2", {}, title), children);
}

// A list of pairs of label and value. Pairs without a value are left out.
export function descriptionList(pairs) {
  const list = h("dl", { class: "description-list" });
  for (const [label, value] of pairs) {
    if (value !== undefined && value !== null && value !== false && value !== "") add(list, h("div", {}, h("dt", {}, label), h("dd", {}, value)));
  }
  return list;
}

export function download(text, name, type = "text/markdown") {
  const url = URL.createObjectURL(text instanceof Blob ? text : new Blob([text], { type }));
  const anchor = h("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// Asks the user for confirmation. Resolves to true if the user confirms.
export function confirmDialog(question, detail, confirmLabel) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": question });
    const close = (isConfirmed) => {
      dialog.close();
      dialog.remove();
      resolve(isConfirmed);
    };
    add(dialog, h("h2", {}, question), h("p", {}, detail),
      h("div", { class: "actions" }, button("Back", () => close(false)), button(confirmLabel, () => close(true), { kind: "danger" })));
    dialog.addEventListener("cancel", () => close(false));
    document.body.append(dialog);
    dialog.showModal();
  });
}

// The error state of a screen: a request failed.
export function errorState(error, retry) {
  const scopeHint = error.status === 403 ? "Sign in with a key that has this scope, or create one: millrace keys create --scopes …" : "";
  const notFoundHint = error.status === 404 ? "It has been deleted, or it belongs to another tenant. A key can read only the data of its own tenant." : "";
  if (!error.status && error.code !== "unreachable") showError(error);
  return h("div", { class: "empty bad", role: "alert" }, h("h2", {}, "The request failed"), h("p", {}, error.message),
    (scopeHint || notFoundHint) && h("p", { class: "muted" }, scopeHint || notFoundHint), retry && button("Try again", retry));
}
