// Shows a transcript with its times, as its pieces finish.
import { call, getJson } from "./api.js";
import { button, fill, h, setText } from "./dom.js";
import { timecode } from "./format.js";
import { card, copyText, download } from "./components.js";
import { showError } from "./toast.js";

const kUnknown = "–";
const kWithTimes = "format=verbose_json";  // independent of the format that the client requested

// The text of a segment, after its speaker if the model names one.
function lineOf({ speaker, text }) {
  return speaker ? `${speaker}: ${text.trim()}` : text.trim();
}

function segmentRow(segment, seek) {
  const time = timecode(segment.start);
  return h("li", {}, seek ? h("button", { type: "button", class: "as-link mono", "aria-label": `Play from ${time}`, on: { click: () => seek(segment.start) } }, time)
    : h("span", { class: "mono muted" }, time), h("span", {}, lineOf(segment)));
}

function detail(label, value) {
  return h("div", {}, h("dt", {}, label), value);
}

export class TranscriptView {
  // `name()`: the base name of downloads. `seek(seconds)`: plays the recording from there, or null.
  constructor(name, seek = null) {
    Object.assign(this, { name, seek, path: "", text: "" });
    this.language = h("dd", {}, kUnknown);
    this.length = h("dd", {}, kUnknown);
    this.list = h("ol", { class: "transcript" });
    this.notes = h("div", {});
    this.toolbar = h("div", { class: "toolbar" }, button("Copy", () => copyText(this.text), { kind: "small", iconName: "copy", disabled: true }),
      button("Download .txt", () => download(this.text, `${this.name()}.txt`, "text/plain"), { kind: "small", iconName: "download", disabled: true }),
      button("Download .srt", () => this.downloadSrt(), { kind: "small", iconName: "download", disabled: true }));
    this.element = h("div", { class: "transcription" }, h("dl", { class: "description-list" }, detail("Language", this.language), detail("Length", this.length)), this.toolbar, this.list, this.notes);
  }

  append(segments) {
    this.list.append(...segments.map((segment) => segmentRow(segment, this.seek)));
    this.text = [this.text, ...segments.map((segment) => segment.text.trim())].filter(Boolean).join(" ");
    this.enableButtons({ text: this.text !== "", times: false });
  }

  // Enables the buttons for what is available.
  enableButtons({ text, times }) {
    this.toolbar.querySelectorAll("button").forEach((control, at) => (control.disabled = !(at < 2 ? text : times)));
  }

  // Shows the complete transcript. The first argument: a verbose_json response; `path`: its URL. Rows that are already
  // shown stay if they match it.
  showComplete({ text, language, duration, segments }, path) {
    const isPrefix = [...this.list.children].every((row, at) => segments[at] && row.lastChild.textContent === lineOf(segments[at]));
    if (!isPrefix) this.list.replaceChildren();
    this.append(segments.slice(this.list.children.length));
    Object.assign(this, { text, path });
    setText(this.language, language);
    setText(this.length, duration === null ? kUnknown : timecode(duration));
    this.enableButtons({ text: text !== "", times: segments.length > 0 });
    if (text && !segments.length) fill(this.notes, h("p", { class: "muted" }, "The model returned no timestamps. Only the text is shown."), h("p", { class: "plain-text" }, text));
    if (!text) fill(this.notes, h("p", {}, "The model recognised no words in the recording."));
  }

  async downloadSrt() {
    try {
      const response = await call("GET", `${this.path}?format=srt`);
      download(await response.text(), `${this.name()}.srt`, "application/x-subrip");
    } catch (error) {
      showError(error);
    }
  }
}

// Shows the pieces of a transcription job in order, and the complete transcript at the end.
export class PartialTranscript {
  constructor(id, view, signal) {
    Object.assign(this, { path: `/v1/jobs/${id}/result`, view, signal, received: new Set(), next: 0, loading: null });
  }

  onEvent({ type, data }) {
    if (type === "progress") this.isSinglePiece = data.total === 1;  // a single piece: there are no partial results
    if (type !== "piece" || this.isSinglePiece) return;
    this.received.add(data.index);
    this.loading ??= this.loadPieces().catch(showError).finally(() => (this.loading = null));
  }

  // Shows pieces in order. A piece waits for missing earlier ones, so text that is already shown does not move.
  async loadPieces() {
    while (this.received.has(this.next)) {
      let after = this.next;
      while (this.received.has(after)) ++after;
      const { segments } = await getJson(`${this.path}?partial=true&${kWithTimes}&pages=${this.next}-${after - 1}`, { signal: this.signal });
      this.view.append(segments);
      this.next = after;  // set after the request, so that a failed request is repeated
    }
  }

  async complete() {
    await this.loading;
    const transcript = await getJson(`${this.path}?${kWithTimes}`, { signal: this.signal });
    if (transcript) this.view.showComplete(transcript, this.path);
  }
}

export function sttResult(job, signal, { note }) {
  const view = new TranscriptView(() => job.id);
  const partialTranscript = new PartialTranscript(job.id, view, signal);
  const load = async () => {
    try {
      await partialTranscript.complete();
    } catch (error) {
      showError(error);
    }
  };
  return {
    element: card("Transcript", view.element, note.element),
    begin: (now) => now.status === "succeeded" && load(),
    onEvent: (event) => job.status !== "succeeded" && partialTranscript.onEvent(event),
    finish: (now) => now.status === "succeeded" && load(),
  };
}
