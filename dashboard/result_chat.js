// A deferred chat as the conversation that it was: what is stored of it is the answer.
import { getJson } from "./api.js";
import { curl } from "./curl.js";
import { fill, h } from "./dom.js";
import { markdown } from "./markdown.js";
import { card, waiting } from "./parts.js";
import { tellError } from "./toast.js";

export function toolCall(call) {
  const { name, arguments: text } = call.function ?? { name: call.type, arguments: "" };
  return h("details", { class: "tool" }, h("summary", {}, `Calls ${name}`), h("pre", { tabindex: "0" }, text));
}

// What a tool of a server answered, which the gateway called.
export function toolResult({ server_name: server, tool_name: tool, arguments: asked, result, is_error: bad, duration_ms: ms }) {
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));
  return h("details", { class: `tool ${bad ? "bad" : ""}` }, h("summary", {}, `${tool} of ${server} ${bad ? "failed" : "answered"}${ms === undefined ? "" : ` after ${ms} ms`}`),
    h("pre", { tabindex: "0" }, text(asked)), h("pre", { tabindex: "0" }, text(result ?? "")));
}

// One turn of a conversation.
export function bubble(role, text, { calls = [], model = "" } = {}) {
  const body = h("div", { class: "said" }, role === "user" ? h("p", { class: "as-typed" }, text) : markdown(text ?? "", { headingsFrom: 3 }));
  return h("article", { class: `bubble ${role}`, "aria-label": role }, h("header", { class: "faint" }, role === "assistant" && model ? model : role), body, calls.map(toolCall));
}

export function chatResult(job, signal) {
  const body = h("div", { class: "conversation" }, waiting(job));
  async function load() {
    try {
      const completion = await getJson(`/v1/jobs/${job.id}/result`, { signal });
      fill(body, completion.choices.map((choice) => bubble("assistant", choice.message.content ?? choice.message.refusal ?? "",
        { calls: choice.message.tool_calls, model: completion.model })),
      h("p", { class: "faint" }, "What was asked is not kept where this page can read it."));
    } catch (error) {
      tellError(error);
    }
  }
  return {
    element: card("Conversation", body),
    begin: (now) => now.status === "succeeded" && load(),
    onEvent() {},
    finish: (now) => (now.status === "succeeded" ? load() : fill(body, waiting(now))),
    repeat: () => curl("POST", "/v1/chat/completions", { json: { model: job.model, messages: [{ role: "user", content: "Your question" }], deferred: true } }),
  };
}
