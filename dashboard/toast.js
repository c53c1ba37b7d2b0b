// Short messages at the edge, that go by themselves; errors stay until they are closed.
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

// An act behind a button, which does nothing more while it runs; its error told. Whether the button is `disabled` is
// the screen's to say, then and afterwards.
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
