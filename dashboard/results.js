// The views of results, one per kind: {element, begin(job), onEvent(event), finish(job)}.
import { getJson } from "./api.js";
import { h } from "./dom.js";
import { card } from "./components.js";
import { chatResult } from "./result_chat.js";
import { execResult } from "./result_exec.js";
import { ocrResult } from "./result_ocr.js";
import { sttResult } from "./result_stt.js";

// An unknown kind: the result as JSON.
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

// `context`: {note, originalRequestPromise, originalRequest}. `note`: the note in place of a result (job_note.js).
// `originalRequestPromise`: the promise of original_request.js. `originalRequest`: its value, if it is known yet.
export function resultView(job, signal, context) {
  return (kViews[job.kind] ?? plainResult)(job, signal, context);
}
