// A deferred chat as a conversation: the messages of the request, and the response.
import { getJson } from "./api.js";
import { button, fill, h } from "./dom.js";
import { card } from "./parts.js";
import { bubble, toolResult } from "./said.js";
import { tellError } from "./toast.js";

const kTurnsMost = 60;  // shown at first; earlier messages on demand

function turn(message) {
  return bubble(message.role, message.content ?? message.refusal ?? "", { calls: message.tool_calls });
}

function answer(completion) {
  const { choices, model, mcp_tool_results: results = [] } = completion;
  return [results.map(toolResult), choices.map(({ message }) =>
    bubble("assistant", message.content ?? message.refusal ?? "", { calls: message.tool_calls, model }))];
}

export function chatResult(job, signal, { note, request }) {
  const asked = h("div", { class: "conversation" });
  const end = h("div", { class: "conversation" });

  function showAsked(messages, most = kTurnsMost) {
    const hidden = messages.length - most;
    fill(asked, hidden > 0 ? button(`Show ${hidden} earlier messages`, () => showAsked(messages, messages.length), { kind: "small" }) : null,
      messages.slice(Math.max(0, hidden)).map(turn));
  }
  async function loadAsked() {
    const { asked: told, problem } = await request;
    if (told) showAsked(told.body.messages);
    else fill(asked, h("p", { class: "faint" }, `The request cannot be shown: ${problem}`));
  }
  async function load() {
    try {
      const completion = await getJson(`/v1/jobs/${job.id}/result`, { signal });
      if (completion) fill(end, answer(completion));
    } catch (error) {
      tellError(error);
    }
  }
  return {
    element: card("Conversation", h("div", { class: "conversation" }, asked, end, note.element)),
    begin: (now) => Promise.all([loadAsked(), now.status === "succeeded" && load()]),
    onEvent() {},
    finish: (now) => now.status === "succeeded" && load(),
  };
}
