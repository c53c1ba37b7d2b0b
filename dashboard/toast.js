// Short messages at the edge of the page. They disappear after a few seconds; errors stay until they are closed.
import { ApiError } from "./api.js";
import { h } from "./dom.js";

const kStaysMs = 5000;
const kToastsMost = 4;

export function toast(text, { bad = false, detail = "" } = {}) {
  const place = document.getElementById("toasts");
  const close = () => box.remove();
  const box = h("div", { class: `toast ${bad ? "bad" : ""}`, role: bad ? "alert" : undefined },
    h("div", {}, h("p", {}, text), detail && h("p", { class: "faint" }, detail)),
    h("button", { type: "button", class: "plain", "aria-label": "Close this message", on: { click: close } }, "×"));
  place.append(box);
  while (place.children.length > kToastsMost) place.firstChild.remove();
  if (!bad) setTimeout(close, kStaysMs);
}

export function tellError(error) {
  if (error.name === "AbortError") return;
  const known = error instanceof ApiError;
  const fields = known ? error.fields.map((f) => `${f.at}: ${f.text}`).join("; ") : "";
  const request = known && error.requestId ? `request ${error.requestId}` : "";
  toast(error.message, { bad: true, detail: [fields, request].filter(Boolean).join(" · ") });
  if (!known) console.error(error);
}

// Runs the action of a button, and shows its error. While it runs, the button ignores clicks. Only the screen sets
// `disabled`, during the action and afterwards.
export async function guarded(control, act) {
  if (control.getAttribute("aria-busy") === "true") return undefined;
  control.setAttribute("aria-busy", "true");
  control.setAttribute("aria-disabled", "true");
  try {
    return await act();
  } catch (error) {
    tellError(error);
    return undefined;
  } finally {
    control.removeAttribute("aria-busy");
    control.removeAttribute("aria-disabled");
  }
}
