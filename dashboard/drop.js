// The drop box: documents become pages of markdown, recordings become transcripts, while one watches.
import { call, getJson, send } from "./api.js";
import { adviceFor } from "./advice.js";
import { cli, curl } from "./curl.js";
import { add, button, fill, h, setText } from "./dom.js";
import { bytes, duration } from "./format.js";
import { code, heading, kTerminal, pausedNote, setChip } from "./parts.js";
import { PagePictures } from "./page_picture.js";
import { ocrCommand } from "./asked.js";
import { PageList } from "./result_ocr.js";
import { readTranscript, transcriptView } from "./result_stt.js";
import { follow } from "./stream.js";
import { tellError, toast } from "./toast.js";

const kDocumentMost = 50 * 1048576;
const kAudioMost = 25 * 1048576;
const kAtOnce = 3;
const kPagesPerAsk = 50;
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

// One file and what becomes of it. It goes on while other screens are shown.
class Item {
  constructor(file, speech) {
    this.file = file;
    this.speech = speech;
    this.left = new AbortController();  // when it is cleared away
    this.state = h("span", {});
    this.note = h("span", { class: "faint", role: "status" });
    this.bar = h("progress", { hidden: true, "aria-label": `Progress of ${file.name}` });
    this.body = h("div", {});
    this.hold = h("div", {});
    this.link = h("span", {});
    this.element = h("section", { class: "card item", "aria-label": file.name },
      h("header", {}, h("div", {}, h("h2", { class: "breaks" }, file.name), h("p", { class: "faint" }, bytes(file.size), " ", this.note)), this.state, this.link),
      this.hold, this.bar, this.body);
    this.say("queued");
  }

  say(status, note = "") {
    this.status = status;
    setChip(this.state, status);
    setText(this.note, note);
  }

  fail(error, errorCode = error.code) {
    this.say("failed");
    this.bar.hidden = true;
    fill(this.body, this.pages?.element, h("div", { class: "notice bad", role: "alert" }, h("strong", {}, error.message), h("p", {}, adviceFor(errorCode))));
  }

  async run() {
    try {
      await (kDocuments[endingOf(this.file)] ? this.read() : this.hear());
    } catch (error) {
      this.fail(error);
    }
  }

  // As a job: its pages show as they finish.
  async read() {
    this.say("sending");
    const uri = await dataUri(this.file, kDocuments[endingOf(this.file)]);
    const job = await send("POST", "/v1/ocr", { document: { type: "document_url", document_url: uri }, document_name: this.file.name, include_image_base64: true },
      { headers: { Prefer: "respond-async" } });
    this.named(job);
    this.pages = new PageList(() => this.file.name.replace(/\.\w+$/, ""), this.isPicture ? null : new PagePictures(job.id, this.left.signal));
    fill(this.body, this.beside(this.pages.element));
    await this.watch(job);
  }

  // What was dropped, beside what was read of it: a picture shows itself.
  get isPicture() {
    return (kDocuments[endingOf(this.file)] ?? "").startsWith("image/");
  }

  beside(element) {
    if (!this.isPicture) return element;
    this.url = URL.createObjectURL(this.file);
    return h("div", { class: "beside" }, h("img", { src: this.url, alt: this.file.name }), element);
  }

  // The recording, to be heard from any of its times.
  player() {
    this.url = URL.createObjectURL(this.file);
    return h("audio", { controls: true, src: this.url, "aria-label": this.file.name });
  }

  named(job) {
    this.job = job;
    fill(this.link, h("a", { href: `#/jobs/${job.id}`, class: "button small" }, "Open the job"));
  }

  // The pages as they finish, then all of them.
  async watch(job) {
    const path = `/v1/jobs/${job.id}`;
    const fresh = new Set();
    let asking = null;
    const ask = async () => {
      while (fresh.size) {
        const wanted = [...fresh].slice(0, kPagesPerAsk);
        wanted.forEach((index) => fresh.delete(index));
        const result = await getJson(`${path}/result?partial=true&pages=${wanted.join(",")}`);
        this.pages.take(result?.pages ?? []);
      }
      asking = null;
    };
    const ended = await this.untilOver(path, (type, data) => {
      if (type !== "page") return;
      fresh.add(data.index);
      asking ??= ask().catch(tellError);
    });
    await asking;
    if (ended.status !== "succeeded") return this.failAs(ended);
    const result = await getJson(`${path}/result`);
    this.pages.take(result.pages);
    const took = new Date(ended.completed_at) - new Date(ended.created_at);
    return this.say("succeeded", `· ${duration(took)}, ${duration(took / Math.max(1, result.pages.length))} a page`);
  }

  // Follows the job to its end; the job as it is then.
  async untilOver(path, onEvent) {
    await follow(`${path}/events`, (event) => {
      const data = JSON.parse(event.data).data ?? {};
      if (event.type === "progress") Object.assign(this.bar, { max: data.total, hidden: false, value: data.done });
      if (event.type === "page" || event.type === "piece") this.bar.value += 1;
      onEvent(event.type, data);
      if (kTerminal.has(event.type)) return "over";
      this.say(event.type === "queued" ? "queued" : "running");
      if (event.type === "queued") this.tellPause(path);
      else this.hold.replaceChildren();
      return "";
    }, { signal: new AbortController().signal });
    this.bar.hidden = true;
    return getJson(path);
  }

  // A queue that is paused takes it in and does not begin it.
  async tellPause(path) {
    const job = await getJson(path).catch(() => ({}));
    if (job.status === "queued" && job.paused) fill(this.hold, pausedNote(job.kind));
  }

  failAs(job) {
    this.fail(job.error ?? { message: `The job is ${job.status}`, code: "" });
  }

  async hear() {
    if (!this.speech) throw new Error("This gateway has no model for speech: transcription is not offered here.");
    this.say("sending");
    const form = new FormData();
    form.append("model", this.speech);
    form.append("response_format", "verbose_json");
    form.append("file", this.file, this.file.name);
    const response = await call("POST", kTranscriptions, { body: form, headers: { Prefer: "respond-async" } });
    const job = await response.json();
    this.named(job);
    const player = this.player();
    fill(this.body, player);
    const ended = await this.untilOver(`/v1/jobs/${job.id}`, () => {});
    if (ended.status !== "succeeded") return this.failAs(ended);
    const transcript = await readTranscript(await call("GET", `/v1/jobs/${job.id}/result`));
    const seek = (seconds) => {
      player.currentTime = seconds;
      player.play().catch(tellError);
    };
    fill(this.body, player, transcriptView(transcript, this.file.name, seek));
    return this.say("succeeded", `· ${duration(new Date(ended.completed_at) - new Date(ended.created_at))}`);
  }
}

// Outlives the screen: who looks elsewhere meanwhile finds it again.
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

function take(files, list, speech) {
  for (const file of files) {
    const no = file.size ? refusal(file) : "empty";
    if (no) {
      toast(`${file.name} is ${no}`, { bad: true });
      continue;
    }
    const item = new Item(file, speech);
    items.unshift(item);
    line.push(item);
    list.prepend(item.element);
  }
  runNext();
}

// The model for speech, if this gateway offers any.
async function speechModel(signal) {
  const [document_, models] = await Promise.all([getJson("/openapi.json", { signal }), getJson("/v1/models", { signal }).catch(() => ({ data: [] }))]);
  if (!document_.paths[kTranscriptions]) return "";
  const able = models.data.filter((m) => m.capabilities.audio && !/flite|tts|speech/i.test(m.id));
  return able.find((m) => m.provider === "millrace")?.id ?? able[0]?.id ?? "";
}

function commands(speech) {
  return h("details", { class: "card", open: items.length === 0 }, h("summary", {}, "The same from a script"),
    code(cli("ocr scan.pdf -o text/"), "On the command line"), code(ocrCommand(), "By the API"),
    speech && code(curl("POST", kTranscriptions, { form: [["model", speech], ["file", "@talk.wav"]] }), "A transcript"));
}

export const title = "Drop box";
export async function show(place, { signal }) {
  const list = h("div", { class: "items" });
  const about = h("p", { class: "faint" });
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
  fill(place, heading("Drop box", "Documents become markdown, page by page, while you watch; recordings become transcripts."), input, zone, about, list);
  for (const [type, on] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]])
    document.addEventListener(type, over(on), { signal });
  add(list, items.map((item) => item.element));
  speech = await speechModel(signal).catch(() => "");
  if (speech) zone.lastChild.append(", and recordings up to 25 MB");
  add(place, commands(speech));
  if (items.some((item) => kTerminal.has(item.status))) add(place, button("Clear what is done", () => clearDone(list), { kind: "small" }));
}

function clearDone(list) {
  for (const item of items.filter((each) => kTerminal.has(each.status))) {
    item.left.abort();
    if (item.url) URL.revokeObjectURL(item.url);
  }
  items.splice(0, items.length, ...items.filter((item) => !kTerminal.has(item.status)));
  fill(list, items.map((item) => item.element));
}
