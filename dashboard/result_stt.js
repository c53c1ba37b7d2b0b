// A transcript with its times.
import { call } from "./api.js";
import { button, fill, h } from "./dom.js";
import { stamp } from "./format.js";
import { card, copyText, facts, save, waiting } from "./parts.js";
import { tellError } from "./toast.js";

function segmentRow(segment, seek) {
  const time = stamp(segment.start);
  return h("li", {}, seek ? h("button", { type: "button", class: "as-link mono", "aria-label": `Play from ${time}`, on: { click: () => seek(segment.start) } }, time)
    : h("span", { class: "mono faint" }, time), h("span", {}, segment.text.trim()));
}

// `transcript`: the reply of json or verbose_json, or the text of the other formats. `seek(seconds)`: plays the
// recording from there, where it is at hand.
export function transcriptView(transcript, name, seek = null) {
  if (typeof transcript === "string") return h("pre", { class: "raw", tabindex: "0" }, transcript);
  const { text = "", segments = [], duration, language } = transcript;
  return h("div", {},
    facts([["Language", language], ["Length", duration !== undefined && stamp(duration)]]),
    h("div", { class: "bar" }, button("Copy", () => copyText(text), { kind: "small", iconName: "copy" }),
      button("Download .txt", () => save(text, `${name}.txt`, "text/plain"), { kind: "small", iconName: "drop" })),
    segments.length ? h("ol", { class: "transcript" }, segments.map((segment) => segmentRow(segment, seek))) : h("p", { class: "as-typed" }, text || "Nothing was heard."));
}

export async function readTranscript(response) {
  const json = (response.headers.get("content-type") ?? "").includes("json");
  return json ? response.json() : response.text();
}

export function sttResult(job, signal) {
  const body = h("div", {}, waiting(job));
  async function load() {
    try {
      const response = await call("GET", `/v1/jobs/${job.id}/result`, { signal });
      if (response.status !== 202) fill(body, transcriptView(await readTranscript(response), job.id));
    } catch (error) {
      tellError(error);
    }
  }
  return {
    element: card("Transcript", body),
    begin: (now) => now.status === "succeeded" && load(),
    onEvent() {},
    finish: (now) => (now.status === "succeeded" ? load() : fill(body, waiting(now))),
  };
}
