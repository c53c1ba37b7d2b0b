// Renders the messages of a conversation.
import { h } from "./dom.js";
import { markdown } from "./markdown.js";

export function toolCall(call) {
  const { name, arguments: text, input } = call.function ?? call.custom ?? { name: call.type };
  return h("details", { class: "tool" }, h("summary", {}, `Calls ${name}`), h("pre", { tabindex: "0" }, text ?? input ?? ""));
}

// The result of a tool of an MCP server, which the gateway called.
export function toolResult({ server_name: server, tool_name: tool, arguments: toolArguments, result, is_error: isError, duration_ms: ms }) {
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));
  return h("details", { class: `tool ${isError ? "bad" : ""}` }, h("summary", {}, `${tool} of ${server} ${isError ? "failed" : "succeeded"}${ms === undefined ? "" : ` after ${ms} ms`}`),
    h("pre", { tabindex: "0" }, text(toolArguments)), h("pre", { tabindex: "0" }, text(result ?? "")));
}

// Messages of models are rendered as markdown. All others are shown as plain text.
function textElement(role, text) {
  return role === "assistant" ? markdown(text, { headingsFrom: 3 }) : h("p", { class: "plain-text" }, text);
}

// An image is shown only if the request contains it. The page loads no images from other servers.
function imageElement(url) {
  if (url.startsWith("data:image/")) return h("img", { src: url, alt: "An image of the request", loading: "lazy" });
  return h("p", { class: "muted wrap-anywhere" }, "Image: ", url.startsWith("data:") ? "this type cannot be shown" : url);
}

function contentPart(role, part) {
  if (part.type === "text" || part.type === "refusal") return textElement(role, String(part[part.type] ?? ""));
  if (part.type === "image_url") return imageElement(String(part.image_url?.url ?? ""));
  if (part.type === "input_audio") return h("p", { class: "muted" }, `Recording (${part.input_audio?.format ?? "audio"})`);
  return h("p", { class: "muted wrap-anywhere" }, part.file?.filename ? `File: ${part.file.filename}` : `Part of type ${part.type}`);
}

// `content`: a text or a list of parts.
function contentElements(role, content) {
  return Array.isArray(content) ? content.map((part) => contentPart(role, part)) : textElement(role, content ?? "");
}

// One message of a conversation. `calls`: its tool calls.
export function bubble(role, content, { calls = [], model = "" } = {}) {
  return h("article", { class: `bubble ${role}`, "aria-label": role },
    h("header", { class: "muted" }, role === "assistant" && model ? model : role),
    h("div", { class: "message-content" }, contentElements(role, content)), (calls ?? []).map(toolCall));
}
