// The screen of one job: live events, the result, advice for an error, and commands that repeat the job.
import { getJson, send } from "./api.js";
import { requestOf, commandOfRequest, noteOfRequest } from "./original_request.js";
import { cli, curl } from "./curl.js";
import { add, button, fill, h, setText } from "./dom.js";
import { bytes, clockTime, fullTime, plural } from "./format.js";
import { JobFacts } from "./job_facts.js";
import { JobNote, lineOf } from "./job_note.js";
import { card, chip, code, copyText, empty, heading, kindName, kTerminal, linkMark, nameText, setChip, showLink, troubled } from "./parts.js";
import { settle } from "./settle.js";
import { follow, pause } from "./stream.js";
import { guarded, toast } from "./toast.js";
import { resultView } from "./results.js";

const kTickMs = 1000;
const kTimelineMost = 400;
const kNearEnd = 40;  // px; new entries scroll into view only if the reader is this close to the end
const kAskedMs = 600;  // the layout waits this long for the original request, so that it can be laid out in one step
const kPartNames = { page: "page", piece: "piece" };
const kQuietEvents = new Set(["stdout", "stderr", ...Object.keys(kPartNames)]);

// The text of an event, without its name. `shares`: how often the job was split into children before the event.
export function eventText(event, shares) {
  const data = event.data ?? {};
  if (event.type === "progress") return `${data.done} of ${data.total}`;
  if (data.message) return data.message;
  if (data.code) return data.code;
  return data.attempt - shares > 1 ? `attempt ${data.attempt - shares}` : "";
}

class JobScreen {
  constructor(place, { id, signal }) {
    Object.assign(this, { place, id, signal });
    this.last = null;  // the last entry of the timeline
    this.version = 0;
    this.parts = 0;  // pages or pieces that events have reported
    this.shares = 0;  // how often it was split; the run that merges the parts counts as an attempt in the events
  }

  async begin() {
    try {
      this.job = await getJson(`/v1/jobs/${encodeURIComponent(this.id)}`, { signal: this.signal });
      this.request = requestOf(this.job.id, this.signal);
      this.asked = (await Promise.race([this.request, pause(kAskedMs, this.signal)]))?.asked;
    } catch (error) {
      if (error.name !== "AbortError") this.showNone(error);
      return;
    }
    this.wasOver = kTerminal.has(this.job.status);
    this.layOut();
    this.result.begin(this.job);
    if (!this.asked) this.showLateCommands();
    const timer = setInterval(() => this.tick(), kTickMs);
    this.signal.addEventListener("abort", () => clearInterval(timer));
    this.listen();
  }

  showNone(error) {
    const gone = error.status === 404;
    fill(this.place, h("p", {}, h("a", { href: "#/jobs" }, "← Jobs")), heading(gone ? "No such job" : "Job", h("span", { class: "mono breaks" }, this.id)),
      gone ? empty("The job does not exist, or it belongs to another tenant", "Jobs are kept for a week after they end. To see a job of another tenant, use a key of that tenant.") : troubled(error, () => this.begin()));
  }

  async listen() {
    try {
      await follow(`/v1/jobs/${this.id}/events`, (event) => this.onEvent(JSON.parse(event.data)),
        { signal: this.signal, onLink: (up) => showLink(this.link, up ? "live" : "lost") });
      this.link.hidden = true;
    } catch (error) {
      this.tellTrouble(error);
    }
  }

  // All parts have their space from the start, so the layout does not shift while the job runs.
  layOut() {
    this.state = h("span", {});
    this.link = linkMark();
    this.actions = h("div", { class: "actions" });
    this.line = h("p", { role: "status" });
    this.bar = h("progress", { "aria-label": "Progress" });
    this.note = new JobNote();
    this.facts = new JobFacts(this.job);
    this.timeline = h("ol", { class: "timeline", tabindex: "0", "aria-label": "Events" });
    this.result = resultView(this.job, this.signal, { note: this.note, request: this.request, asked: this.asked });
    this.repeat = card("API", this.commands());
    fill(this.place, h("div", { class: "heading trail" }, h("p", {}, h("a", { href: "#/jobs" }, "← Jobs")), this.link, this.actions),
      h("div", { class: "heading" }, h("div", {}, h("h1", { tabindex: "-1" }, kindName(this.job.kind), " ", this.state),
        this.job.name ? h("p", { class: "breaks" }, nameText(this.job.name)) : null,
        h("p", { class: "mono breaks" }, this.job.id, " ", button("Copy id", () => copyText(this.job.id), { kind: "small" })))),
      h("div", { class: "strip" }, this.line, this.bar),
      h("div", { class: `columns ${this.wasOver ? "" : "is-under-way"}` }, h("div", { class: "main-column" }, this.result.element),
        h("div", { class: "side-column" }, card("Details", this.facts.element), card("Events", this.timeline), this.repeat)));
    this.show();
  }

  show() {
    const { job } = this;
    const over = kTerminal.has(job.status);
    setChip(this.state, job.cancel_requested && !over ? "cancelling" : job.status);
    this.facts.show(job);
    this.note.show(job);
    const { done, total } = job.progress ?? {};
    const counts = job.status === "running" && Boolean(total);
    this.line.setAttribute("aria-live", counts ? "off" : "polite");  // screen readers do not announce each page
    setText(this.line, lineOf(job));
    this.line.classList.toggle("problem", over && Boolean(job.error));
    this.bar.classList.toggle("is-idle", !total || over);
    if (total) Object.assign(this.bar, { max: total, value: done });
    this.showActions(over);
  }

  // Updates the buttons in place. If the focused button is removed or disabled, the focus moves to the heading.
  showActions(over) {
    const { cancel_requested: told } = this.job;
    const isHeld = this.actions.contains(document.activeElement);
    settle(this.actions, over ? null : button("Cancel", (e) => this.act(e, "cancel"), { kind: "danger", disabled: told, data: { key: "cancel" } }),
      this.canRetry ? button("Retry", (e) => this.act(e, "retry"), { data: { key: "retry" } }) : null);
    if (isHeld && !this.actions.querySelector(":focus:enabled")) this.place.querySelector("h1").focus({ preventScroll: true });
  }

  // Shows the commands if the original request arrives after the layout.
  async showLateCommands() {
    this.asked = (await this.request).asked;
    if (this.asked && !this.signal.aborted) fill(this.repeat, h("h2", {}, "API"), this.commands());
  }

  get canRetry() {
    return ["failed", "expired", "cancelled"].includes(this.job.status) && this.job.kind !== "exec";
  }

  commands() {
    const path = `/v1/jobs/${this.job.id}`;
    const list = [h("p", { class: "faint" }, "Get the result of the job when it has succeeded:"), code(curl("GET", `${path}/result`), "Get the result")];
    if (this.asked) list.unshift(h("p", { class: "faint" }, noteOfRequest(this.asked)), code(commandOfRequest(this.asked), "Run it again"));
    if (this.job.kind !== "exec" && this.job.status !== "succeeded") {
      list.push(h("p", { class: "faint" }, this.canRetry ? "Run it again from its stored input:" : "If it fails, run it again from its stored input:"),
        code(curl("POST", `${path}/retry`), "Retry it"));
    }
    list.push(h("p", { class: "faint" }, "On the command line:"), code(cli(`jobs tail ${this.job.id}`), "Follow it"));
    return list;
  }

  tick() {
    if (!kTerminal.has(this.job.status)) this.facts.show(this.job);
  }

  onEvent(event) {
    if (event.version <= this.version) return "";
    this.version = event.version;
    if (event.type === "waiting") ++this.shares;
    this.writeDown(event);
    this.result.onEvent(event);
    const over = kTerminal.has(event.type);
    if (!this.wasOver) this.follow(event, over);
    return over ? "over" : "";
  }

  // Updates the job from an event.
  follow(event, over) {
    if (event.type === "progress") this.job.progress = { ...event.data };
    if (event.type === "waiting") this.lookAtShares();
    if (kPartNames[event.type]) this.countPart();
    if (event.type === "running") this.begun(event);
    if (over || event.type === "running" || event.type === "queued") this.job.status = event.type;
    if (!kQuietEvents.has(event.type) || kPartNames[event.type]) this.show();
    if (over) this.refresh();
  }

  begun({ at, data }) {
    this.job.started_at ??= at;
    this.job.attempt = data.attempt - this.shares;
  }

  countPart() {
    ++this.parts;
    const { progress } = this.job;
    if (progress) progress.done = Math.min(progress.total, progress.done + 1);
  }

  // The events of a split job do not contain its size, so the job is requested.
  async lookAtShares() {
    const { progress } = await getJson(`/v1/jobs/${this.id}`, { signal: this.signal }).catch(() => ({}));
    if (!progress || kTerminal.has(this.job.status)) return;
    this.job.progress = { done: this.parts, total: progress.total };
    this.result.onEvent({ type: "progress", data: progress });
    this.show();
  }

  // Consecutive page events, and consecutive output events of one stream, share one line.
  writeDown(event) {
    const quiet = kQuietEvents.has(event.type);
    const { timeline } = this;
    const follows = timeline.scrollHeight - timeline.scrollTop - timeline.clientHeight < kNearEnd;
    const size = event.data?.chunk?.length ?? 0;
    if (quiet && this.last?.type === event.type) {
      this.last.count += 1;
      this.last.size += size;
    } else {
      this.last = { type: event.type, count: 1, size, text: h("span", {}) };
      add(timeline, h("li", { class: kTerminal.has(event.type) ? event.type : "" },
        h("time", { class: "mono faint", datetime: event.at, title: fullTime(event.at) }, clockTime(event.at)), " ",
        kPartNames[event.type] ? null : quiet ? h("span", { class: "mono" }, event.type) : chip(event.type), " ", this.last.text));
    }
    const { count } = this.last;
    setText(this.last.text, !quiet ? eventText(event, this.shares) : kPartNames[event.type] ? plural(count, kPartNames[event.type]) : bytes(this.last.size));
    while (timeline.children.length > kTimelineMost) timeline.firstChild.remove();
    if (follows) timeline.scrollTop = timeline.scrollHeight;
  }

  async refresh() {
    try {
      this.job = await getJson(`/v1/jobs/${this.id}`, { signal: this.signal });
      this.show();
      await this.result.finish(this.job);
      this.show();
    } catch (error) {
      if (error.name !== "AbortError") this.tellTrouble(error);
    }
  }

  tellTrouble(error) {
    this.link.hidden = false;
    showLink(this.link, "lost");
    setText(this.link, error.message);
  }

  act(event, verb) {
    return guarded(event.currentTarget, async () => {
      const job = await send("POST", `/v1/jobs/${this.id}/${verb}`);
      if (verb === "retry") {
        toast("A new job was created from the same input");
        location.hash = `#/jobs/${job.id}`;
        return;
      }
      this.job = { ...this.job, ...job };
      this.show();
    });
  }
}

export const title = "Job";
export function show(place, route) {
  return new JobScreen(place, route).begin();
}
