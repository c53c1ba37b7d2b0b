// The screen "Drop box": uploads documents and recordings, and shows their pages or transcripts as they finish.
import { call, getJson, send } from "./api.js";
import { adviceFor } from "./advice.js";
import { cli, curl } from "./curl.js";
import { add, button, fill, h, setText } from "./dom.js";
import { bytes, duration } from "./format.js";
import { code, heading, kTerminal, pausedNote, setChip } from "./components.js";
import { PagePictures } from "./page_pictures.js";
import { ocrCommand } from "./original_request.js";
import { expectedPages, PageFeed, PageList } from "./result_ocr.js";
import { PartialTranscript, TranscriptView } from "./result_stt.js";
import { followStream } from "./stream.js";
import { showError, toast } from "./toast.js";

const kDocumentBytesMax = 50 * 1048576;
const kAudioBytesMax = 25 * 1048576;
const kConcurrentFiles = 3;
const kDocuments = { pdf: "application/pdf", png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", webp: "image/webp" };
const kAudio = ["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"];
const kTranscriptions = "/v1/audio/transcriptions";

function extensionOf(file) {
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
class UploadItem {
  constructor(file, transcriptionModel, onState) {
    Object.assign(this, { file, transcriptionModel, onState });
    this.abortController = new AbortController();  // aborted when the item is cleared
    this.state = h("span", { class: "state" });
    this.note = h("span", { class: "muted", role: "status" });
    this.progressBar = h("progress", { class: "is-invisible", "aria-label": `Progress of ${file.name}` });
    this.pausedNotice = h("div", {});
    this.body = h("div", {}, h("p", { class: "muted" }, this.isDocument ? "The text appears here page by page." : "The transcript appears here."));
    this.pane = h("div", { class: `pane ${this.isDocument ? "" : "is-short"}`, tabindex: "0", role: "region", "aria-label": `Text of ${file.name}` }, this.pausedNotice, this.body);
    this.jobLink = h("a", { class: "button small is-invisible" }, "Open the job");
    this.element = h("section", { class: "card upload-item", "aria-label": file.name },
      h("header", {}, h("div", {}, h("h2", { class: "wrap-anywhere" }, file.name), h("p", { class: "muted" }, bytes(file.size), " ", this.note)), this.state, this.jobLink),
      this.progressBar, this.pane);
    this.setStatus("queued");
  }

  setStatus(status, note = "") {
    this.status = status;
    setChip(this.state, status);
    setText(this.note, note);
    if (kTerminal.has(status)) this.showProgress(null);
    this.onState();
  }

  // `progress`: {done, total}, or null to hide the bar.
  showProgress(progress) {
    this.progressBar.classList.toggle("is-invisible", !progress);
    if (progress) Object.assign(this.progressBar, { max: progress.total, value: progress.done });
  }

  fail(error, errorCode = error.code) {
    this.setStatus("failed", `· ${error.message}`);
    this.pages?.markEnded();
    const reason = h("div", { class: "notice bad", role: "alert" }, h("strong", {}, error.message), h("p", {}, adviceFor(errorCode)));
    if (this.hasContent) add(this.body, reason);
    else fill(this.pane, reason);  // the reason fills the whole pane
  }

  async run() {
    try {
      await (this.isDocument ? this.processDocument() : this.transcribe());
    } catch (error) {
      this.fail(error);
    }
  }

  get isDocument() {
    return extensionOf(this.file) in kDocuments;
  }

  showContent(...children) {
    this.hasContent = true;
    fill(this.body, children);
  }

  // Submits the document as a job, and shows its pages as they finish.
  async processDocument() {
    this.setStatus("sending");
    const uri = await dataUri(this.file, kDocuments[extensionOf(this.file)]);
    const job = await send("POST", "/v1/ocr", { document: { type: "document_url", document_url: uri }, document_name: this.file.name, include_image_base64: true },
      { headers: { Prefer: "respond-async" } });
    this.setJob(job);
    const pictures = this.isImage ? null : new PagePictures(job.id, this.abortController.signal, this.pane);
    this.pages = new PageList(() => this.file.name.replace(/\.\w+$/, ""), pictures);
    await this.followDocument(job);
  }

  // Whether the file is an image. An image is shown beside its text.
  get isImage() {
    return (kDocuments[extensionOf(this.file)] ?? "").startsWith("image/");
  }

  withImage(element) {
    if (!this.isImage) return element;
    this.url = URL.createObjectURL(this.file);
    return h("div", { class: "side-by-side" }, h("img", { src: this.url, alt: this.file.name }), element);
  }

  // An audio player for the recording.
  player() {
    this.url = URL.createObjectURL(this.file);
    return h("audio", { controls: true, src: this.url, "aria-label": this.file.name });
  }

  setJob(job) {
    this.job = job;
    this.jobLink.href = `#/jobs/${job.id}`;
    this.jobLink.classList.remove("is-invisible");
  }

  showPages(total) {
    if (!this.hasContent) this.showContent(this.withImage(this.pages.element));
    if (total) this.pages.setExpected(expectedPages(total));
  }

  // Shows pages as they finish, and all pages at the end.
  async followDocument(job) {
    const feed = new PageFeed(job.id, (pages) => this.pages.addPages(pages), this.abortController.signal);
    const endedJob = await this.followJob(`/v1/jobs/${job.id}`, ({ type, data }) => {
      if (type === "progress") this.showPages(data.total);
      if (type === "page") feed.requestPage(data.index);
    });
    if (endedJob.status !== "succeeded") return this.showJobError(endedJob);
    this.showPages();
    const { pages } = await feed.all();
    const elapsedMs = new Date(endedJob.completed_at) - new Date(endedJob.created_at);
    return this.setStatus("succeeded", `· ${duration(elapsedMs)}, ${duration(elapsedMs / Math.max(1, pages.length))} per page`);
  }

  // Follows the job until it ends. Returns the ended job.
  async followJob(path, onEvent) {
    let progress = null;
    let partsDone = 0;
    const loadProgress = async () => {
      const { progress: loaded } = await getJson(path).catch(() => ({}));
      if (!loaded || kTerminal.has(this.status)) return;
      progress = { done: partsDone, total: loaded.total };
      onEvent({ type: "progress", data: loaded });
      this.showProgress(progress);
    };
    await followStream(`${path}/events`, (message) => {
      const event = { data: {}, ...JSON.parse(message.data), type: message.type };
      if (event.type === "progress") progress = { ...event.data };
      if (event.type === "waiting") loadProgress();
      if (event.type === "page" || event.type === "piece") ++partsDone;
      if (progress) progress.done = Math.min(progress.total, Math.max(progress.done, partsDone));
      onEvent(event);
      if (kTerminal.has(event.type)) return "done";
      this.setStatus(["queued", "scheduled"].includes(event.type) ? event.type : "running");
      this.showProgress(progress);
      if (event.type === "queued") this.showPausedNote(path);
      else this.pausedNotice.replaceChildren();
      return "";
    }, { signal: new AbortController().signal });
    return getJson(path);
  }

  // A paused queue accepts the job but does not start it.
  async showPausedNote(path) {
    const job = await getJson(path).catch(() => ({}));
    if (job.status === "queued" && job.paused) fill(this.pausedNotice, pausedNote(job.kind));
  }

  showJobError(job) {
    this.fail(job.error ?? { message: `The job ended with status ${job.status}`, code: "" });
  }

  async transcribe() {
    if (!this.transcriptionModel) throw new Error("This gateway has no transcription model. Add one to the configuration.");
    this.setStatus("sending");
    const form = new FormData();
    form.append("model", this.transcriptionModel);
    form.append("response_format", "verbose_json");
    form.append("file", this.file, this.file.name);
    const response = await call("POST", kTranscriptions, { body: form, headers: { Prefer: "respond-async" } });
    const job = await response.json();
    this.setJob(job);
    const player = this.player();
    const seek = (seconds) => {
      player.currentTime = seconds;
      player.play().catch(showError);
    };
    const view = new TranscriptView(() => this.file.name.replace(/\.\w+$/, ""), seek);
    const partialTranscript = new PartialTranscript(job.id, view, this.abortController.signal);
    this.showContent(player, view.element);
    const endedJob = await this.followJob(`/v1/jobs/${job.id}`, (event) => partialTranscript.onEvent(event));
    if (endedJob.status !== "succeeded") return this.showJobError(endedJob);
    await partialTranscript.complete();
    return this.setStatus("succeeded", `· ${duration(new Date(endedJob.completed_at) - new Date(endedJob.created_at))}`);
  }
}

// Kept while other screens are shown.
const items = [];
const queue = [];
let activeCount = 0;

function startNext() {
  while (activeCount < kConcurrentFiles && queue.length) {
    ++activeCount;
    queue.shift().run().finally(() => {
      --activeCount;
      startNext();
    });
  }
}

function rejectionReason(file) {
  const extension = extensionOf(file);
  if (kDocuments[extension]) return file.size > kDocumentBytesMax ? "larger than 50 MB: split it" : "";
  if (kAudio.includes(extension)) return file.size > kAudioBytesMax ? "larger than 25 MB: split it" : "";
  return `neither a document (${Object.keys(kDocuments).join(", ")}) nor a recording (${kAudio.join(", ")})`;
}

let onState = () => {};  // called when the state of an item changes; set by the current screen

function addFiles(files, list, transcriptionModel) {
  for (const file of files) {
    const rejection = file.size ? rejectionReason(file) : "empty";
    if (rejection) {
      toast(`${file.name} is ${rejection}`, { isError: true });
      continue;
    }
    const item = new UploadItem(file, transcriptionModel, () => onState());
    items.unshift(item);
    queue.push(item);
    list.prepend(item.element);
  }
  startNext();
}

// The id of the transcription model. Empty if the gateway has none.
async function findTranscriptionModel(signal) {
  const [document_, models] = await Promise.all([getJson("/openapi.json", { signal }), getJson("/v1/models", { signal }).catch(() => ({ data: [] }))]);
  if (!document_.paths[kTranscriptions]) return "";
  const candidates = models.data.filter((m) => m.capabilities.transcription);
  return candidates.find((m) => m.provider === "millrace")?.id ?? candidates[0]?.id ?? "";
}

function commands(transcriptionModel) {
  return h("details", { class: "card", open: items.length === 0 }, h("summary", {}, "The same from a script"),
    code(cli("ocr scan.pdf -o text/"), "On the command line"), code(ocrCommand(), "With the API"),
    transcriptionModel && code(curl("POST", kTranscriptions, { form: [["model", transcriptionModel], ["file", "@talk.wav"]] }), "Transcribe a recording"));
}

export const title = "Drop box";
export async function show(container, { signal }) {
  const list = h("div", { class: "upload-items" });
  const input = h("input", { type: "file", multiple: true, id: "files", class: "visually-hidden", "aria-describedby": "upload-hint",
    on: { change: () => {
      addFiles([...input.files], list, transcriptionModel);
      input.value = "";
    } } });
  let transcriptionModel = "";
  const dropZone = h("label", { class: "drop-zone", for: "files" }, h("strong", {}, "Drop files here, or choose them"),
    h("span", { id: "upload-hint", class: "muted" }, "PDF, PNG, JPEG, WebP up to 50 MB"));
  const onDrag = (on) => (event) => {
    event.preventDefault();
    dropZone.classList.toggle("is-drag-over", on);
    if (event.type === "drop") addFiles([...event.dataTransfer.files], list, transcriptionModel);
  };
  const clear = button("Clear finished files", () => clearFinished(list), { kind: "small", disabled: true });
  onState = () => (clear.disabled = !items.some((item) => kTerminal.has(item.status)));
  signal.addEventListener("abort", () => (onState = () => {}));
  fill(container, heading("Drop box", "Converts documents to markdown, page by page, and recordings to transcripts.", clear), input, dropZone, list);
  for (const [type, on] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]])
    document.addEventListener(type, onDrag(on), { signal });
  add(list, items.map((item) => item.element));
  onState();
  transcriptionModel = await findTranscriptionModel(signal).catch(() => "");
  if (transcriptionModel) dropZone.lastChild.append(", and recordings up to 25 MB");
  add(container, commands(transcriptionModel));
}

function clearFinished(list) {
  for (const item of items.filter((each) => kTerminal.has(each.status))) {
    item.abortController.abort();
    if (item.url) URL.revokeObjectURL(item.url);
  }
  items.splice(0, items.length, ...items.filter((item) => !kTerminal.has(item.status)));
  fill(list, items.map((item) => item.element));
  onState();
}
