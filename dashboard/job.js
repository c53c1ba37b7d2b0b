// One job: its way so far, live; what it has made; what to do about its error; how to do it again.
import { getJson, send } from "./api.js";
import { adviceFor } from "./advice.js";
import { askedOf, commandOfAsked, noteOfAsked } from "./asked.js";
import { cli, curl } from "./curl.js";
import { add, button, fill, h, setText } from "./dom.js";
import { bytes, clockTime, duration, fullTime, plural, ran, waited } from "./format.js";
import { card, chip, code, copyText, facts, kindName, kTerminal, pausedNote, setChip, troubled } from "./parts.js";
import { follow } from "./stream.js";
import { guarded, toast } from "./toast.js";
import { resultView } from "./results.js";

const kTickMs = 1000;
const kTimelineMost = 400;
const kPartNames = { page: "page", piece: "piece" };
const kQuietEvents = new Set(["stdout", "stderr", ...Object.keys(kPartNames)]);

// What an event says, beyond its name.
function eventText(event) {
  const data = event.data ?? {};
  if (event.type === "progress") return `${data.done} of ${data.total}`;
  if (data.message) return data.message;
  if (data.code) return data.code;
  return data.attempt ? `attempt ${data.attempt}` : "";
}

class JobScreen {
  constructor(place, { id, signal }) {
    Object.assign(this, { place, id, signal });
    this.last = null;  // the event that the timeline ended with
    this.version = 0;
  }

  async begin() {
    try {
      this.job = await getJson(`/v1/jobs/${encodeURIComponent(this.id)}`, { signal: this.signal });
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(this.place, h("p", {}, h("a", { href: "#/jobs" }, "← Jobs")), troubled(error, error.status === 404 ? null : () => this.begin()),
        error.status === 404 ? h("p", { class: "faint" }, "Jobs are kept for a week after their end. One of another tenant is seen with a key of that tenant.") : null);
      return;
    }
    this.wasOver = kTerminal.has(this.job.status);
    this.layOut();
    this.result.begin(this.job);
    this.showRepeat();
    const timer = setInterval(() => this.tick(), kTickMs);
    this.signal.addEventListener("abort", () => clearInterval(timer));
    this.listen();
  }

  async listen() {
    try {
      await follow(`/v1/jobs/${this.id}/events`, (event) => this.onEvent(JSON.parse(event.data)),
        { signal: this.signal, onLink: (up) => setText(this.link, up ? "" : "reconnecting …") });
      setText(this.link, "");
    } catch (error) {
      setText(this.link, error.message);
    }
  }

  layOut() {
    this.state = h("span", {});
    this.link = h("span", { class: "faint", role: "status" });
    this.actions = h("div", { class: "actions" });
    this.facts = h("div", {});
    this.problem = h("div", {});
    this.timeline = h("ol", { class: "timeline", tabindex: "0", "aria-label": "What happened" });
    this.bar = h("progress", { hidden: true, "aria-label": "Progress" });
    this.request = askedOf(this.job, this.signal);
    this.result = resultView(this.job, this.signal, this.request);
    this.repeat = h("div", {});
    fill(this.place, h("p", {}, h("a", { href: "#/jobs" }, "← Jobs")),
      h("div", { class: "heading" }, h("div", {}, h("h1", { tabindex: "-1" }, kindName(this.job.kind), " ", this.state),
        h("p", { class: "mono breaks" }, this.job.id, " ", button("Copy the id", () => copyText(this.job.id), { kind: "small" }), " ", this.link)), this.actions),
      this.bar, this.problem,
      h("div", { class: "columns" }, h("div", { class: "main-column" }, this.result.element),
        h("div", { class: "side-column" }, card("Facts", this.facts), card("What happened", this.timeline), this.repeat)));
    this.show();
  }

  show() {
    const { job } = this;
    const over = kTerminal.has(job.status);
    setChip(this.state, job.cancel_requested && !over ? "cancelling" : job.status);
    this.showFacts();
    const { done, total } = job.progress ?? {};
    this.bar.hidden = !total || over;
    if (total) Object.assign(this.bar, { max: total, value: done });
    this.showProblem();
    fill(this.actions, over ? null : button("Cancel", (e) => this.act(e, "cancel"), { kind: "danger", disabled: job.cancel_requested }),
      this.canRetry ? button("Retry", (e) => this.act(e, "retry"), { kind: "primary" }) : null);
    fill(this.repeat, card("The same by the API", this.commands()));
  }

  // Once it is known what the job was asked.
  async showRepeat() {
    this.asked = (await this.request).asked;
    if (!this.signal.aborted) this.show();
  }

  get canRetry() {
    return ["failed", "expired", "cancelled"].includes(this.job.status) && this.job.kind !== "exec";
  }

  showFacts() {
    const { job } = this;
    const time = (t) => t && h("time", { datetime: t }, fullTime(t));
    const usage = job.usage && `${job.usage.prompt_tokens ?? 0} in, ${job.usage.completion_tokens ?? 0} out`;
    fill(this.facts, facts([
      ["Model", job.model], ["Answered by", job.answered_by !== job.model && job.answered_by], ["Made", time(job.created_at)],
      ["Waited", duration(waited(job))], ["Ran", job.started_at && duration(ran(job))], ["Attempts", job.attempt],
      [job.kind === "ocr" ? "Pages" : "Parts", job.progress && `${job.progress.done} of ${job.progress.total}`], ["Tokens", usage],
      ["Cost", job.cost_usd !== undefined && `$${job.cost_usd}`], ["Dropped parameters", job.dropped_params],
      ["Retry of", job.retry_of && h("a", { href: `#/jobs/${job.retry_of}` }, job.retry_of)],
      ["Kept until", time(job.expires_at)]]));
  }

  showProblem() {
    const { error } = this.job;
    if (!error) return fill(this.problem, this.job.status === "queued" && this.job.paused ? pausedNote(this.job.kind) : null);
    const advice = adviceFor(error.code);
    return fill(this.problem, h("div", { class: "notice bad", role: "alert" },
      h("strong", {}, error.message), h("p", {}, advice, " ", h("code", {}, error.code))));
  }

  commands() {
    const path = `/v1/jobs/${this.job.id}`;
    const list = [h("p", { class: "faint" }, "Its result, when it is there:"), code(curl("GET", `${path}/result`), "Get the result")];
    if (this.asked) list.unshift(h("p", { class: "faint" }, noteOfAsked(this.asked)), code(commandOfAsked(this.asked), "Do it again"));
    if (this.canRetry) list.push(h("p", { class: "faint" }, "Make it anew from what it was made of:"), code(curl("POST", `${path}/retry`), "Retry it"));
    list.push(h("p", { class: "faint" }, "On the command line:"), code(cli(`jobs tail ${this.job.id}`), "Follow it"));
    return list;
  }

  tick() {
    if (!kTerminal.has(this.job.status)) this.showFacts();
  }

  onEvent(event) {
    if (event.version <= this.version) return "";
    this.version = event.version;
    this.note(event);
    this.result.onEvent(event);
    const over = kTerminal.has(event.type);
    if (!this.wasOver) this.follow(event, over);
    return over ? "over" : "";
  }

  // The job itself moves with its events.
  follow(event, over) {
    if (event.type === "progress") this.job.progress = { ...event.data };
    if (kPartNames[event.type] && this.job.progress) this.job.progress.done = Math.min(this.job.progress.total, this.job.progress.done + 1);
    if (event.type === "running") this.job.started_at ??= event.at;
    if (over || event.type === "running" || event.type === "queued") this.job.status = event.type;
    if (!kQuietEvents.has(event.type) || kPartNames[event.type]) this.show();
    if (over) this.refresh();
  }

  // Pages and output of one sort make one line together.
  note(event) {
    const quiet = kQuietEvents.has(event.type);
    const size = event.data?.chunk?.length ?? 0;
    if (quiet && this.last?.type === event.type) {
      this.last.count += 1;
      this.last.size += size;
    } else {
      this.last = { type: event.type, count: 1, size, text: h("span", {}) };
      add(this.timeline, h("li", { class: kTerminal.has(event.type) ? event.type : "" },
        h("time", { class: "mono faint", datetime: event.at, title: fullTime(event.at) }, clockTime(event.at)), " ",
        kPartNames[event.type] ? null : quiet ? h("span", { class: "mono" }, event.type) : chip(event.type), " ", this.last.text));
    }
    const { count } = this.last;
    setText(this.last.text, !quiet ? eventText(event) : kPartNames[event.type] ? plural(count, kPartNames[event.type]) : bytes(this.last.size));
    while (this.timeline.children.length > kTimelineMost) this.timeline.firstChild.remove();
  }

  async refresh() {
    try {
      this.job = await getJson(`/v1/jobs/${this.id}`, { signal: this.signal });
      this.show();
      await this.result.finish(this.job);
      this.show();
    } catch (error) {
      if (error.name !== "AbortError") setText(this.link, error.message);
    }
  }

  act(event, verb) {
    return guarded(event.currentTarget, async () => {
      const job = await send("POST", `/v1/jobs/${this.id}/${verb}`);
      if (verb === "retry") {
        toast("A new job was made from the same input");
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
