// What is said in a conversation, as its messages have it.
import { h } from "./dom.js";
import { markdown } from "./markdown.js";

export function toolCall(call) {
  const { name, arguments: text, input } = call.function ?? call.custom ?? { name: call.type };
  return h("details", { class: "tool" }, h("summary", {}, `Calls ${name}`), h("pre", { tabindex: "0" }, text ?? input ?? ""));
}

// What a tool of a server answered, which the gateway called.
export function toolResult({ server_name: server, tool_name: tool, arguments: asked, result, is_error: bad, duration_ms: ms }) {
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));
  return h("details", { class: `tool ${bad ? "bad" : ""}` }, h("summary", {}, `${tool} of ${server} ${bad ? "failed" : "answered"}${ms === undefined ? "" : ` after ${ms} ms`}`),
    h("pre", { tabindex: "0" }, text(asked)), h("pre", { tabindex: "0" }, text(result ?? "")));
}

// Models write markdown; people and tools are shown as they wrote.
function words(role, text) {
  return role === "assistant" ? markdown(text, { headingsFrom: 3 }) : h("p", { class: "as-typed" }, text);
}

// A picture is shown where the request itself has it: this page asks nobody else for one.
function picture(url) {
  if (url.startsWith("data:image/")) return h("img", { src: url, alt: "A picture of the request", loading: "lazy" });
  return h("p", { class: "faint breaks" }, "A picture: ", url.startsWith("data:") ? "not of a kind that is shown" : url);
}

function part(role, each) {
  if (each.type === "text" || each.type === "refusal") return words(role, String(each[each.type] ?? ""));
  if (each.type === "image_url") return picture(String(each.image_url?.url ?? ""));
  if (each.type === "input_audio") return h("p", { class: "faint" }, `A recording (${each.input_audio?.format ?? "audio"})`);
  return h("p", { class: "faint breaks" }, each.file?.filename ? `A file: ${each.file.filename}` : `A part of type ${each.type}`);
}

// `content`: a text, or a list of parts.
function said(role, content) {
  return Array.isArray(content) ? content.map((each) => part(role, each)) : words(role, content ?? "");
}

// One turn of a conversation. `calls`: of tools.
export function bubble(role, content, { calls = [], model = "" } = {}) {
  return h("article", { class: `bubble ${role}`, "aria-label": role },
    h("header", { class: "faint" }, role === "assistant" && model ? model : role),
    h("div", { class: "said" }, said(role, content)), (calls ?? []).map(toolCall));
}
