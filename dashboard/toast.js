// Short messages at the edge of the page. They disappear after a few seconds; errors stay until they are closed.
import { ApiError } from "./api.js";
import { h } from "./dom.js";

const kVisibleMs = 5000;
const kToastsMax = 4;

export function toast(text, { isError = false, detail = "" } = {}) {
  const container = document.getElementById("toasts");
  const close = () => toastElement.remove();
  const toastElement = h("div", { class: `toast ${isError ? "bad" : ""}`, role: isError ? "alert" : undefined },
    h("div", {}, h("p", {}, text), detail && h("p", { class: "muted" }, detail)),
    h("button", { type: "button", class: "plain", "aria-label": "Close this message", on: { click: close } }, "×"));
  container.append(toastElement);
  while (container.children.length > kToastsMax) container.firstChild.remove();
  if (!isError) setTimeout(close, kVisibleMs);
}

export function showError(error) {
  if (error.name === "AbortError") return;
  const isApiError = error instanceof ApiError;
  const fields = isApiError ? error.fields.map((f) => `${f.path}: ${f.text}`).join("; ") : "";
  const request = isApiError && error.requestId ? `request ${error.requestId}` : "";
  toast(error.message, { isError: true, detail: [fields, request].filter(Boolean).join(" · ") });
  if (!isApiError) console.error(error);
}

// Runs the action of the button `control`, and shows its error. While it runs, the button ignores clicks. Only the screen
// sets `disabled`, during the action and afterwards.
export async function runAction(control, action) {
  if (control.getAttribute("aria-busy") === "true") return undefined;
  control.setAttribute("aria-busy", "true");
  control.setAttribute("aria-disabled", "true");
  try {
    return await action();
  } catch (error) {
    showError(error);
    return undefined;
  } finally {
    control.removeAttribute("aria-busy");
    control.removeAttribute("aria-disabled");
  }
}
