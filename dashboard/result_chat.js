// A deferred chat as a conversation: the messages of the request, and the response.
import { getJson } from "./api.js";
import { button, fill, h } from "./dom.js";
import { card } from "./components.js";
import { bubble, toolResult } from "./messages.js";
import { showError } from "./toast.js";

const kMessagesMax = 60;  // shown at first; earlier messages on demand

function messageElement(message) {
  return bubble(message.role, message.content ?? message.refusal ?? "", { calls: message.tool_calls });
}

function completionElements(completion) {
  const { choices, model, mcp_tool_results: results = [] } = completion;
  return [results.map(toolResult), choices.map(({ message }) =>
    bubble("assistant", message.content ?? message.refusal ?? "", { calls: message.tool_calls, model }))];
}

export function chatResult(job, signal, { note, originalRequestPromise }) {
  const messagesElement = h("div", { class: "conversation" });
  const responseElement = h("div", { class: "conversation" });

  function showMessages(messages, limit = kMessagesMax) {
    const hidden = messages.length - limit;
    fill(messagesElement, hidden > 0 ? button(`Show ${hidden} earlier messages`, () => showMessages(messages, messages.length), { kind: "small" }) : null,
      messages.slice(Math.max(0, hidden)).map(messageElement));
  }
  async function loadMessages() {
    const { originalRequest, errorMessage } = await originalRequestPromise;
    if (originalRequest) showMessages(originalRequest.body.messages);
    else fill(messagesElement, h("p", { class: "muted" }, `The request cannot be shown: ${errorMessage}`));
  }
  async function load() {
    try {
      const completion = await getJson(`/v1/jobs/${job.id}/result`, { signal });
      if (completion) fill(responseElement, completionElements(completion));
    } catch (error) {
      showError(error);
    }
  }
  return {
    element: card("Conversation", h("div", { class: "conversation" }, messagesElement, responseElement, note.element)),
    begin: (now) => Promise.all([loadMessages(), now.status === "succeeded" && load()]),
    onEvent() {},
    finish: (now) => now.status === "succeeded" && load(),
  };
}
