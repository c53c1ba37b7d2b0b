// Renders the messages of a conversation.
import { h } from "./dom.js";
import { markdown } from "./markdown.js";

export function toolCall(call) {
  const { name, arguments: text, input } = call.function ?? call.custom ?? { name: call.type };
  return h("details", { class: "tool" }, h("summary", {}, `Calls ${name}`), h("pre", { tabindex: "0" }, text ?? input ?? ""));
}

// The result of a tool of an MCP server, which the gateway called.
export function toolResult({ server_name: server, tool_name: tool, arguments: asked, result, is_error: bad, duration_ms: ms }) {
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));
  return h("details", { class: `tool ${bad ? "bad" : ""}` }, h("summary", {}, `${tool} of ${server} ${bad ? "failed" : "succeeded"}${ms === undefined ? "" : ` after ${ms} ms`}`),
    h("pre", { tabindex: "0" }, text(asked)), h("pre", { tabindex: "0" }, text(result ?? "")));
}

// Messages of models are rendered as markdown. All others are shown as plain text.
function words(role, text) {
  return role === "assistant" ? markdown(text, { headingsFrom: 3 }) : h("p", { class: "as-typed" }, text);
}

// An image is shown only if the request contains it. The page loads no images from other servers.
function picture(url) {
  if (url.startsWith("data:image/")) return h("img", { src: url, alt: "An image of the request", loading: "lazy" });
  return h("p", { class: "faint breaks" }, "Image: ", url.startsWith("data:") ? "this type cannot be shown" : url);
}

function part(role, each) {
  if (each.type === "text" || each.type === "refusal") return words(role, String(each[each.type] ?? ""));
  if (each.type === "image_url") return picture(String(each.image_url?.url ?? ""));
  if (each.type === "input_audio") return h("p", { class: "faint" }, `Recording (${each.input_audio?.format ?? "audio"})`);
  return h("p", { class: "faint breaks" }, each.file?.filename ? `File: ${each.file.filename}` : `Part of type ${each.type}`);
}

// `content`: a text or a list of parts.
function said(role, content) {
  return Array.isArray(content) ? content.map((each) => part(role, each)) : words(role, content ?? "");
}

// One message of a conversation. `calls`: its tool calls.
export function bubble(role, content, { calls = [], model = "" } = {}) {
  return h("article", { class: `bubble ${role}`, "aria-label": role },
    h("header", { class: "faint" }, role === "assistant" && model ? model : role),
    h("div", { class: "said" }, said(role, content)), (calls ?? []).map(toolCall));
}
