// The screen of one job: live events, the result, advice for an error, and commands that repeat the job.
import { getJson, send } from "./api.js";
import { loadOriginalRequest, repeatCommand, repeatNote } from "./original_request.js";
import { cli, curl } from "./curl.js";
import { add, button, fill, h, setText } from "./dom.js";
import { bytes, clockTime, fullTime, plural } from "./format.js";
import { JobDetails } from "./job_details.js";
import { JobNote, statusText } from "./job_note.js";
import { card, chip, code, confirmDialog, connectionStatus, copyText, emptyState, errorState, heading, kindName, kTerminal, nameText, setChip, showConnection } from "./components.js";
import { updateInPlace } from "./update_in_place.js";
import { followStream, sleep } from "./stream.js";
import { runAction, toast } from "./toast.js";
import { resultView } from "./results.js";

const kTickMs = 1000;
const kTimelineMax = 400;
const kNearEndPx = 40;  // new entries scroll into view only if the reader is this close to the end
const kRequestWaitMs = 600;  // the layout waits this long for the original request, so that it can be laid out in one step
const kPartNames = { page: "page", piece: "piece" };
const kGroupedEvents = new Set(["stdout", "stderr", ...Object.keys(kPartNames)]);

// The text of an event, without its name. `splits`: how often the job was split into children before the event.
export function eventText(event, splits) {
  const data = event.data ?? {};
  if (event.type === "progress") return `${data.done} of ${data.total}`;
  if (data.message) return data.message;
  if (data.code) return data.code;
  return data.attempt - splits > 1 ? `attempt ${data.attempt - splits}` : "";
}

class JobScreen {
  constructor(container, { id, signal }) {
    Object.assign(this, { container, id, signal });
    this.lastEntry = null;  // of the timeline
    this.version = 0;
    this.partsDone = 0;  // pages or pieces that events have reported
    this.splits = 0;  // how often the job was split; the run that merges its parts counts as an attempt in the events
  }

  async begin() {
    try {
      this.job = await getJson(`/v1/jobs/${encodeURIComponent(this.id)}`, { signal: this.signal });
      this.originalRequestPromise = loadOriginalRequest(this.job.id, this.signal);
      this.originalRequest = (await Promise.race([this.originalRequestPromise, sleep(kRequestWaitMs, this.signal)]))?.originalRequest;
    } catch (error) {
      if (error.name !== "AbortError") this.showNotFound(error);
      return;
    }
    this.wasTerminal = kTerminal.has(this.job.status);
    this.createLayout();
    this.result.begin(this.job);
    if (!this.originalRequest) this.showRepeatCommand();
    const timer = setInterval(() => this.tick(), kTickMs);
    this.signal.addEventListener("abort", () => clearInterval(timer));
    this.followEvents();
  }

  showNotFound(error) {
    const isMissing = error.status === 404;
    fill(this.container, h("p", {}, h("a", { href: "#/jobs" }, "← Jobs")), heading(isMissing ? "No such job" : "Job", h("span", { class: "mono wrap-anywhere" }, this.id)),
      isMissing ? emptyState("The job does not exist, or it belongs to another tenant", "Jobs are kept for a week after they end. To see a job of another tenant, use a key of that tenant.") : errorState(error, () => this.begin()));
  }

  async followEvents() {
    try {
      await followStream(`/v1/jobs/${this.id}/events`, (event) => this.onEvent(JSON.parse(event.data)),
        { signal: this.signal, onConnection: (isConnected) => showConnection(this.connection, isConnected ? "live" : "lost") });
      this.connection.hidden = true;
    } catch (error) {
      this.showConnectionError(error);
    }
  }

  // Every component has its space from the start, so the layout does not shift while the job runs.
  createLayout() {
    this.state = h("span", {});
    this.connection = connectionStatus();
    this.actions = h("div", { class: "actions" });
    this.statusLine = h("p", { role: "status" });
    this.progressBar = h("progress", { "aria-label": "Progress" });
    this.note = new JobNote();
    this.details = new JobDetails(this.job);
    this.timeline = h("ol", { class: "timeline", tabindex: "0", "aria-label": "Events" });
    this.result = resultView(this.job, this.signal, { note: this.note, originalRequestPromise: this.originalRequestPromise, originalRequest: this.originalRequest });
    this.apiCard = card("API", this.commands());
    fill(this.container, h("div", { class: "heading header-bar" }, h("p", {}, h("a", { href: "#/jobs" }, "← Jobs")), this.connection, this.actions),
      h("div", { class: "heading" }, h("div", {}, h("h1", { tabindex: "-1" }, kindName(this.job.kind), " ", this.state),
        this.job.name ? h("p", { class: "wrap-anywhere" }, nameText(this.job.name)) : null,
        h("p", { class: "mono wrap-anywhere" }, this.job.id, " ", button("Copy id", () => copyText(this.job.id), { kind: "small" })))),
      h("div", { class: "status-bar" }, this.statusLine, this.progressBar),
      h("div", { class: `columns ${this.wasTerminal ? "" : "is-running"}` }, h("div", { class: "main-column" }, this.result.element),
        h("div", { class: "side-column" }, card("Details", this.details.element), card("Events", this.timeline), this.apiCard)));
    this.show();
  }

  show() {
    const { job } = this;
    const isTerminal = kTerminal.has(job.status);
    setChip(this.state, job.cancel_requested && !isTerminal ? "cancelling" : job.status);
    this.details.show(job);
    this.note.show(job);
    const { done, total } = job.progress ?? {};
    const counts = job.status === "running" && Boolean(total);
    this.statusLine.setAttribute("aria-live", counts ? "off" : "polite");  // screen readers do not announce each page
    setText(this.statusLine, statusText(job));
    this.statusLine.classList.toggle("problem", isTerminal && Boolean(job.error));
    this.progressBar.classList.toggle("is-invisible", !total || isTerminal);
    if (total) Object.assign(this.progressBar, { max: total, value: done });
    this.showActions(isTerminal);
  }

  // Updates the buttons in place. If the focused button is removed or disabled, the focus moves to the heading.
  showActions(isTerminal) {
    const { cancel_requested: isCancelRequested } = this.job;
    const hadFocus = this.actions.contains(document.activeElement);
    updateInPlace(this.actions, isTerminal ? null : button("Cancel", (e) => this.runJobAction(e, "cancel"), { kind: "danger", disabled: isCancelRequested, data: { key: "cancel" } }),
      this.canRetry ? button("Retry", (e) => this.runJobAction(e, "retry"), { data: { key: "retry" } }) : null,
      isTerminal ? button("Delete", (e) => this.deleteJob(e.currentTarget), { kind: "danger", data: { key: "delete" } }) : null);
    if (hadFocus && !this.actions.querySelector(":focus:enabled")) this.container.querySelector("h1").focus({ preventScroll: true });
  }

  // Shows the commands if the original request arrives after the layout.
  async showRepeatCommand() {
    this.originalRequest = (await this.originalRequestPromise).originalRequest;
    if (this.originalRequest && !this.signal.aborted) fill(this.apiCard, h("h2", {}, "API"), this.commands());
  }

  get canRetry() {
    return ["failed", "expired", "cancelled"].includes(this.job.status) && this.job.kind !== "exec";
  }

  commands() {
    const path = `/v1/jobs/${this.job.id}`;
    const list = [h("p", { class: "muted" }, "Get the result of the job when it has succeeded:"), code(curl("GET", `${path}/result`), "Get the result")];
    if (this.originalRequest) list.unshift(h("p", { class: "muted" }, repeatNote(this.originalRequest)), code(repeatCommand(this.originalRequest), "Run it again"));
    if (this.job.kind !== "exec" && this.job.status !== "succeeded") {
      list.push(h("p", { class: "muted" }, this.canRetry ? "Run it again from its stored input:" : "If it fails, run it again from its stored input:"),
        code(curl("POST", `${path}/retry`), "Retry it"));
    }
    list.push(h("p", { class: "muted" }, "On the command line:"), code(cli(`jobs tail ${this.job.id}`), "Follow it"));
    return list;
  }

  tick() {
    if (!kTerminal.has(this.job.status)) this.details.show(this.job);
  }

  onEvent(event) {
    if (event.version <= this.version) return "";
    this.version = event.version;
    if (event.type === "waiting") ++this.splits;
    this.addToTimeline(event);
    this.result.onEvent(event);
    const isTerminal = kTerminal.has(event.type);
    if (!this.wasTerminal) this.applyEvent(event, isTerminal);
    return isTerminal ? "done" : "";
  }

  // Updates the job from an event.
  applyEvent(event, isTerminal) {
    if (event.type === "progress") this.job.progress = { ...event.data };
    if (event.type === "waiting") this.loadProgress();
    if (kPartNames[event.type]) this.countPart();
    if (event.type === "running") this.setStarted(event);
    if (isTerminal || event.type === "running" || event.type === "queued" || event.type === "scheduled") this.job.status = event.type;
    if (!kGroupedEvents.has(event.type) || kPartNames[event.type]) this.show();
    if (isTerminal) this.refresh();
  }

  setStarted({ at, data }) {
    this.job.started_at ??= at;
    this.job.attempt = data.attempt - this.splits;
  }

  countPart() {
    ++this.partsDone;
    const { progress } = this.job;
    if (progress) progress.done = Math.min(progress.total, progress.done + 1);
  }

  // The events of a split job do not contain its size, so the job is requested.
  async loadProgress() {
    const { progress } = await getJson(`/v1/jobs/${this.id}`, { signal: this.signal }).catch(() => ({}));
    if (!progress || kTerminal.has(this.job.status)) return;
    this.job.progress = { done: this.partsDone, total: progress.total };
    this.result.onEvent({ type: "progress", data: progress });
    this.show();
  }

  // Consecutive events of pages share one line, and so do consecutive events of one output stream.
  addToTimeline(event) {
    const isGrouped = kGroupedEvents.has(event.type);
    const { timeline } = this;
    const isAtEnd = timeline.scrollHeight - timeline.scrollTop - timeline.clientHeight < kNearEndPx;
    const size = event.data?.chunk?.length ?? 0;
    if (isGrouped && this.lastEntry?.type === event.type) {
      this.lastEntry.count += 1;
      this.lastEntry.size += size;
    } else {
      this.lastEntry = { type: event.type, count: 1, size, text: h("span", {}) };
      add(timeline, h("li", { class: kTerminal.has(event.type) ? event.type : "" },
        h("time", { class: "mono muted", datetime: event.at, title: fullTime(event.at) }, clockTime(event.at)), " ",
        kPartNames[event.type] ? null : isGrouped ? h("span", { class: "mono" }, event.type) : chip(event.type), " ", this.lastEntry.text));
    }
    const { count } = this.lastEntry;
    setText(this.lastEntry.text, !isGrouped ? eventText(event, this.splits) : kPartNames[event.type] ? plural(count, kPartNames[event.type]) : bytes(this.lastEntry.size));
    while (timeline.children.length > kTimelineMax) timeline.firstChild.remove();
    if (isAtEnd) timeline.scrollTop = timeline.scrollHeight;
  }

  async refresh() {
    try {
      this.job = await getJson(`/v1/jobs/${this.id}`, { signal: this.signal });
      this.show();
      await this.result.finish(this.job);
      this.show();
    } catch (error) {
      if (error.name !== "AbortError") this.showConnectionError(error);
    }
  }

  showConnectionError(error) {
    this.connection.hidden = false;
    showConnection(this.connection, "lost");
    setText(this.connection, error.message);
  }

  async deleteJob(control) {
    const isConfirmed = await confirmDialog("Delete this job?", "Its request, its file, its result and its history are deleted at once.", "Delete it");
    if (isConfirmed) await runAction(control, async () => {
      await send("DELETE", `/v1/jobs/${this.id}`);
      toast("The job was deleted");
      location.hash = "#/jobs";
    });
  }

  runJobAction(event, action) {
    return runAction(event.currentTarget, async () => {
      const job = await send("POST", `/v1/jobs/${this.id}/${action}`);
      if (action === "retry") {
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
export function show(container, route) {
  return new JobScreen(container, route).begin();
}
