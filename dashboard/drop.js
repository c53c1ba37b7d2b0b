// The drop box: uploads documents and recordings, and shows their pages or transcripts as they finish.
import { call, getJson, send } from "./api.js";
import { adviceFor } from "./advice.js";
import { cli, curl } from "./curl.js";
import { add, button, fill, h, setText } from "./dom.js";
import { bytes, duration } from "./format.js";
import { code, heading, kTerminal, pausedNote, setChip } from "./parts.js";
import { PagePictures } from "./page_picture.js";
import { ocrCommand } from "./original_request.js";
import { PageFeed, PageList, pagesToCome } from "./result_ocr.js";
import { Hearing, TranscriptView } from "./result_stt.js";
import { follow } from "./stream.js";
import { tellError, toast } from "./toast.js";

const kDocumentMost = 50 * 1048576;
const kAudioMost = 25 * 1048576;
const kAtOnce = 3;
const kDocuments = { pdf: "application/pdf", png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", webp: "image/webp" };
const kAudio = ["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"];
const kTranscriptions = "/v1/audio/transcriptions";

function endingOf(file) {
  return file.name.slice(file.name.lastIndexOf(".") + 1).toLowerCase();
}

function dataUri(file, type) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.replace(/^data:[^,]*?(;base64)?,/, `data:${type};base64,`));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}

// One file and its result, in a pane of constant height. Processing continues while other screens are shown.
class Item {
  constructor(file, speech, onState) {
    Object.assign(this, { file, speech, onState });
    this.left = new AbortController();  // aborted when the item is cleared
    this.state = h("span", { class: "state" });
    this.note = h("span", { class: "faint", role: "status" });
    this.bar = h("progress", { class: "is-idle", "aria-label": `Progress of ${file.name}` });
    this.hold = h("div", {});
    this.body = h("div", {}, h("p", { class: "faint" }, this.isDocument ? "The text appears here page by page." : "The transcript appears here."));
    this.pane = h("div", { class: `pane ${this.isDocument ? "" : "is-short"}`, tabindex: "0", role: "region", "aria-label": `Text of ${file.name}` }, this.hold, this.body);
    this.link = h("a", { class: "button small is-idle" }, "Open the job");
    this.element = h("section", { class: "card item", "aria-label": file.name },
      h("header", {}, h("div", {}, h("h2", { class: "breaks" }, file.name), h("p", { class: "faint" }, bytes(file.size), " ", this.note)), this.state, this.link),
      this.bar, this.pane);
    this.say("queued");
  }

  say(status, note = "") {
    this.status = status;
    setChip(this.state, status);
    setText(this.note, note);
    if (kTerminal.has(status)) this.showProgress(null);
    this.onState();
  }

  // `progress`: {done, total}, or null to hide the bar.
  showProgress(progress) {
    this.bar.classList.toggle("is-idle", !progress);
    if (progress) Object.assign(this.bar, { max: progress.total, value: progress.done });
  }

  fail(error, errorCode = error.code) {
    this.say("failed", `· ${error.message}`);
    this.pages?.end();
    const reason = h("div", { class: "notice bad", role: "alert" }, h("strong", {}, error.message), h("p", {}, adviceFor(errorCode)));
    if (this.begun) add(this.body, reason);
    else fill(this.pane, reason);  // the reason fills the whole pane
  }

  async run() {
    try {
      await (this.isDocument ? this.read() : this.hear());
    } catch (error) {
      this.fail(error);
    }
  }

  get isDocument() {
    return endingOf(this.file) in kDocuments;
  }

  begin(...children) {
    this.begun = true;
    fill(this.body, children);
  }

  // Submits the document as a job, and shows its pages as they finish.
  async read() {
    this.say("sending");
    const uri = await dataUri(this.file, kDocuments[endingOf(this.file)]);
    const job = await send("POST", "/v1/ocr", { document: { type: "document_url", document_url: uri }, document_name: this.file.name, include_image_base64: true },
      { headers: { Prefer: "respond-async" } });
    this.named(job);
    const pictures = this.isPicture ? null : new PagePictures(job.id, this.left.signal, this.pane);
    this.pages = new PageList(() => this.file.name.replace(/\.\w+$/, ""), pictures);
    await this.watch(job);
  }

  // Whether the file is an image. An image is shown beside its text.
  get isPicture() {
    return (kDocuments[endingOf(this.file)] ?? "").startsWith("image/");
  }

  beside(element) {
    if (!this.isPicture) return element;
    this.url = URL.createObjectURL(this.file);
    return h("div", { class: "beside" }, h("img", { src: this.url, alt: this.file.name }), element);
  }

  // An audio player for the recording.
  player() {
    this.url = URL.createObjectURL(this.file);
    return h("audio", { controls: true, src: this.url, "aria-label": this.file.name });
  }

  named(job) {
    this.job = job;
    this.link.href = `#/jobs/${job.id}`;
    this.link.classList.remove("is-idle");
  }

  showPages(total) {
    if (!this.begun) this.begin(this.beside(this.pages.element));
    if (total) this.pages.expect(pagesToCome(total));
  }

  // Shows pages as they finish, and all pages at the end.
  async watch(job) {
    const feed = new PageFeed(job.id, (pages) => this.pages.take(pages), this.left.signal);
    const ended = await this.untilOver(`/v1/jobs/${job.id}`, ({ type, data }) => {
      if (type === "progress") this.showPages(data.total);
      if (type === "page") feed.want(data.index);
    });
    if (ended.status !== "succeeded") return this.failAs(ended);
    this.showPages();
    const { pages } = await feed.all();
    const took = new Date(ended.completed_at) - new Date(ended.created_at);
    return this.say("succeeded", `· ${duration(took)}, ${duration(took / Math.max(1, pages.length))} a page`);
  }

  // Follows the job until it ends. Returns the ended job.
  async untilOver(path, onEvent) {
    let progress = null;
    let parts = 0;
    const lookAtShares = async () => {
      const { progress: known } = await getJson(path).catch(() => ({}));
      if (!known || kTerminal.has(this.status)) return;
      progress = { done: parts, total: known.total };
      onEvent({ type: "progress", data: known });
      this.showProgress(progress);
    };
    await follow(`${path}/events`, (told) => {
      const event = { data: {}, ...JSON.parse(told.data), type: told.type };
      if (event.type === "progress") progress = { ...event.data };
      if (event.type === "waiting") lookAtShares();
      if (event.type === "page" || event.type === "piece") ++parts;
      if (progress) progress.done = Math.min(progress.total, Math.max(progress.done, parts));
      onEvent(event);
      if (kTerminal.has(event.type)) return "over";
      this.say(event.type === "queued" ? "queued" : "running");
      this.showProgress(progress);
      if (event.type === "queued") this.tellPause(path);
      else this.hold.replaceChildren();
      return "";
    }, { signal: new AbortController().signal });
    return getJson(path);
  }

  // A paused queue accepts the job but does not start it.
  async tellPause(path) {
    const job = await getJson(path).catch(() => ({}));
    if (job.status === "queued" && job.paused) fill(this.hold, pausedNote(job.kind));
  }

  failAs(job) {
    this.fail(job.error ?? { message: `The job ended with status ${job.status}`, code: "" });
  }

  async hear() {
    if (!this.speech) throw new Error("This gateway has no transcription model. Add one to the configuration.");
    this.say("sending");
    const form = new FormData();
    form.append("model", this.speech);
    form.append("response_format", "verbose_json");
    form.append("file", this.file, this.file.name);
    const response = await call("POST", kTranscriptions, { body: form, headers: { Prefer: "respond-async" } });
    const job = await response.json();
    this.named(job);
    const player = this.player();
    const seek = (seconds) => {
      player.currentTime = seconds;
      player.play().catch(tellError);
    };
    const view = new TranscriptView(() => this.file.name.replace(/\.\w+$/, ""), seek);
    const hearing = new Hearing(job.id, view, this.left.signal);
    this.begin(player, view.element);
    const ended = await this.untilOver(`/v1/jobs/${job.id}`, (event) => hearing.onEvent(event));
    if (ended.status !== "succeeded") return this.failAs(ended);
    await hearing.end();
    return this.say("succeeded", `· ${duration(new Date(ended.completed_at) - new Date(ended.created_at))}`);
  }
}

// Kept while other screens are shown.
const items = [];
const line = [];
let busy = 0;

function runNext() {
  while (busy < kAtOnce && line.length) {
    ++busy;
    line.shift().run().finally(() => {
      --busy;
      runNext();
    });
  }
}

function refusal(file) {
  const ending = endingOf(file);
  if (kDocuments[ending]) return file.size > kDocumentMost ? "larger than 50 MB: split it" : "";
  if (kAudio.includes(ending)) return file.size > kAudioMost ? "larger than 25 MB: split it" : "";
  return `neither a document (${Object.keys(kDocuments).join(", ")}) nor a recording (${kAudio.join(", ")})`;
}

let onState = () => {};  // set by the current screen

function take(files, list, speech) {
  for (const file of files) {
    const no = file.size ? refusal(file) : "empty";
    if (no) {
      toast(`${file.name} is ${no}`, { bad: true });
      continue;
    }
    const item = new Item(file, speech, () => onState());
    items.unshift(item);
    line.push(item);
    list.prepend(item.element);
  }
  runNext();
}

// The id of the transcription model. Empty if the gateway has none.
async function speechModel(signal) {
  const [document_, models] = await Promise.all([getJson("/openapi.json", { signal }), getJson("/v1/models", { signal }).catch(() => ({ data: [] }))]);
  if (!document_.paths[kTranscriptions]) return "";
  const able = models.data.filter((m) => m.capabilities.transcription);
  return able.find((m) => m.provider === "millrace")?.id ?? able[0]?.id ?? "";
}

function commands(speech) {
  return h("details", { class: "card", open: items.length === 0 }, h("summary", {}, "The same from a script"),
    code(cli("ocr scan.pdf -o text/"), "On the command line"), code(ocrCommand(), "With the API"),
    speech && code(curl("POST", kTranscriptions, { form: [["model", speech], ["file", "@talk.wav"]] }), "Transcribe a recording"));
}

export const title = "Drop box";
export async function show(place, { signal }) {
  const list = h("div", { class: "items" });
  const input = h("input", { type: "file", multiple: true, id: "files", class: "unseen", "aria-describedby": "drop-about",
    on: { change: () => {
      take([...input.files], list, speech);
      input.value = "";
    } } });
  let speech = "";
  const zone = h("label", { class: "zone", for: "files" }, h("strong", {}, "Drop files here, or choose them"),
    h("span", { id: "drop-about", class: "faint" }, "PDF, PNG, JPEG, WebP up to 50 MB"));
  const over = (on) => (event) => {
    event.preventDefault();
    zone.classList.toggle("is-over", on);
    if (event.type === "drop") take([...event.dataTransfer.files], list, speech);
  };
  const clear = button("Clear finished files", () => clearDone(list), { kind: "small", disabled: true });
  onState = () => (clear.disabled = !items.some((item) => kTerminal.has(item.status)));
  signal.addEventListener("abort", () => (onState = () => {}));
  fill(place, heading("Drop box", "Converts documents to markdown, page by page, and recordings to transcripts.", clear), input, zone, list);
  for (const [type, on] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]])
    document.addEventListener(type, over(on), { signal });
  add(list, items.map((item) => item.element));
  onState();
  speech = await speechModel(signal).catch(() => "");
  if (speech) zone.lastChild.append(", and recordings up to 25 MB");
  add(place, commands(speech));
}

function clearDone(list) {
  for (const item of items.filter((each) => kTerminal.has(each.status))) {
    item.left.abort();
    if (item.url) URL.revokeObjectURL(item.url);
  }
  items.splice(0, items.length, ...items.filter((item) => !kTerminal.has(item.status)));
  fill(list, items.map((item) => item.element));
  onState();
}
