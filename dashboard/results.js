// What jobs make, one view per kind: {element, begin(job), onEvent(event), finish(job)}.
import { getJson } from "./api.js";
import { h } from "./dom.js";
import { card } from "./parts.js";
import { chatResult } from "./result_chat.js";
import { execResult } from "./result_exec.js";
import { ocrResult } from "./result_ocr.js";
import { sttResult } from "./result_stt.js";

// Of a kind that this page does not know yet: its result as it is.
function plainResult(job, signal, { note }) {
  const body = h("div", {});
  const load = async () => {
    const result = await getJson(`/v1/jobs/${job.id}/result`, { signal });
    body.replaceChildren(h("pre", { tabindex: "0" }, JSON.stringify(result, null, 2)));
  };
  return {
    element: card("Result", body, note.element),
    begin: (now) => now.status === "succeeded" && load(),
    onEvent() {},
    finish: (now) => now.status === "succeeded" && load(),
  };
}

const kViews = { ocr: ocrResult, chat: chatResult, exec: execResult, stt: sttResult };

// `request`: a promise of what it was asked (original_request.js). `note`: what stands where there is nothing yet (job_note.js).
export function resultView(job, signal, about) {
  return (kViews[job.kind] ?? plainResult)(job, signal, about);
}
