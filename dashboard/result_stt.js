// Shows a transcript with its times, as its pieces finish.
import { call, getJson } from "./api.js";
import { button, fill, h, setText } from "./dom.js";
import { stamp } from "./format.js";
import { card, copyText, save } from "./parts.js";
import { tellError } from "./toast.js";

const kUnknown = "–";
const kWithTimes = "format=verbose_json";  // independent of the format that the client requested

function segmentRow(segment, seek) {
  const time = stamp(segment.start);
  return h("li", {}, seek ? h("button", { type: "button", class: "as-link mono", "aria-label": `Play from ${time}`, on: { click: () => seek(segment.start) } }, time)
    : h("span", { class: "mono faint" }, time), h("span", {}, segment.text.trim()));
}

function fact(word, value) {
  return h("div", {}, h("dt", {}, word), value);
}

export class TranscriptView {
  // `name()`: the base name of downloads. `seek(seconds)`: plays the recording from there, or null.
  constructor(name, seek = null) {
    Object.assign(this, { name, seek, path: "", text: "" });
    this.language = h("dd", {}, kUnknown);
    this.length = h("dd", {}, kUnknown);
    this.list = h("ol", { class: "transcript" });
    this.rest = h("div", {});
    this.bar = h("div", { class: "bar" }, button("Copy", () => copyText(this.text), { kind: "small", iconName: "copy", disabled: true }),
      button("Download .txt", () => save(this.text, `${this.name()}.txt`, "text/plain"), { kind: "small", iconName: "drop", disabled: true }),
      button("Download .srt", () => this.saveTimed(), { kind: "small", iconName: "drop", disabled: true }));
    this.element = h("div", { class: "heard" }, h("dl", { class: "facts" }, fact("Language", this.language), fact("Length", this.length)), this.bar, this.list, this.rest);
  }

  append(segments) {
    this.list.append(...segments.map((segment) => segmentRow(segment, this.seek)));
    this.text = [this.text, ...segments.map((segment) => segment.text.trim())].filter(Boolean).join(" ");
    this.allow({ text: this.text !== "", times: false });
  }

  // Enables the buttons for what is available.
  allow({ text, times }) {
    this.bar.querySelectorAll("button").forEach((control, at) => (control.disabled = !(at < 2 ? text : times)));
  }

  // Shows the complete transcript. The first argument: a verbose_json response; `path`: its URL. If the rows that are
  // already shown match it, they stay.
  end({ text, language, duration, segments }, path) {
    const isBegun = [...this.list.children].every((row, at) => row.lastChild.textContent === segments[at]?.text.trim());
    if (!isBegun) this.list.replaceChildren();
    this.append(segments.slice(this.list.children.length));
    Object.assign(this, { text, path });
    setText(this.language, language);
    setText(this.length, duration === null ? kUnknown : stamp(duration));
    this.allow({ text: text !== "", times: segments.length > 0 });
    if (text && !segments.length) fill(this.rest, h("p", { class: "faint" }, "The model returned no timestamps. Only the text is shown."), h("p", { class: "as-typed" }, text));
    if (!text) fill(this.rest, h("p", {}, "The model recognised no words in the recording."));
  }

  async saveTimed() {
    try {
      const response = await call("GET", `${this.path}?format=srt`);
      save(await response.text(), `${this.name()}.srt`, "application/x-subrip");
    } catch (error) {
      tellError(error);
    }
  }
}

// Shows the pieces of a transcription job in order, and the complete transcript at the end.
export class Hearing {
  constructor(id, view, signal) {
    Object.assign(this, { path: `/v1/jobs/${id}/result`, view, signal, heard: new Set(), next: 0, asking: null });
  }

  onEvent({ type, data }) {
    if (type === "progress") this.isWhole = data.total === 1;  // a single piece: there are no partial results
    if (type !== "piece" || this.isWhole) return;
    this.heard.add(data.index);
    this.asking ??= this.ask().catch(tellError).finally(() => (this.asking = null));
  }

  // Pieces are shown in order. A piece waits for missing earlier ones, so text that is already shown does not move.
  async ask() {
    while (this.heard.has(this.next)) {
      let after = this.next;
      while (this.heard.has(after)) ++after;
      const { segments } = await getJson(`${this.path}?partial=true&${kWithTimes}&pages=${this.next}-${after - 1}`, { signal: this.signal });
      this.view.append(segments);
      this.next = after;  // set after the request, so that a failed request is repeated
    }
  }

  async end() {
    await this.asking;
    const transcript = await getJson(`${this.path}?${kWithTimes}`, { signal: this.signal });
    if (transcript) this.view.end(transcript, this.path);
  }
}

export function sttResult(job, signal, { note }) {
  const view = new TranscriptView(() => job.id);
  const hearing = new Hearing(job.id, view, signal);
  const load = async () => {
    try {
      await hearing.end();
    } catch (error) {
      tellError(error);
    }
  };
  return {
    element: card("Transcript", view.element, note.element),
    begin: (now) => now.status === "succeeded" && load(),
    onEvent: (event) => job.status !== "succeeded" && hearing.onEvent(event),
    finish: (now) => now.status === "succeeded" && load(),
  };
}
