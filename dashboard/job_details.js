// The details of a job. All rows exist from the start, so the layout does not shift when a value arrives.
import { h, setText } from "./dom.js";
import { count, dollars, duration, fullTime, runMs, waitMs } from "./format.js";
import { kTerminal } from "./components.js";

const kUnknown = "–";

function tokens({ usage }) {
  return usage && `${count(usage.prompt_tokens ?? 0)} in, ${count(usage.completion_tokens ?? 0)} out`;
}

const isTerminal = (job) => kTerminal.has(job.status);

const kCommonRows = [
  ["Wait time", (job) => duration(waitMs(job))], ["Run time", (job) => job.started_at && duration(runMs(job))],
  ["Attempts", (job) => String(job.attempt)]];
const partsText = (job) => job.progress && `${count(job.progress.done)} of ${count(job.progress.total)}`;
const kRowsByKind = {
  ocr: [["Pages", partsText]],
  stt: [["Parts", partsText]],
  chat: [["Answered by", (job) => job.answered_by], ["Tokens", tokens],
    ["Cost", (job) => (job.cost_usd === undefined ? job.usage && "unknown" : dollars(job.cost_usd))],
    ["Dropped parameters", (job) => job.dropped_params ?? (job.usage && "none")]],
};

function row(label, value) {
  return h("div", {}, h("dt", {}, label), value);
}

export class JobDetails {
  constructor(job) {
    const jobLink = (id) => h("dd", {}, h("a", { href: `#/jobs/${id}`, class: "mono" }, id));
    this.rows = [...kCommonRows, ...(kRowsByKind[job.kind] ?? []), ["Kept until", (now) => isTerminal(now) && fullTime(now.expires_at)]]
      .map(([label, text]) => ({ text, value: h("dd", {}), label }));
    this.element = h("dl", { class: "description-list" },
      job.model && job.kind !== "exec" ? row("Model", h("dd", {}, job.model)) : null,
      row("Created", h("dd", {}, h("time", { datetime: job.created_at }, fullTime(job.created_at)))),
      job.run_at ? row("Starts at", h("dd", {}, h("time", { datetime: job.run_at }, fullTime(job.run_at)))) : null,
      job.metadata ? row("Metadata", h("dd", {}, Object.entries(job.metadata).map(([key, value]) => `${key}=${value}`).join(", "))) : null,
      job.retry_of ? row("Retry of", jobLink(job.retry_of)) : null,
      job.retried_by ? row("Retried as", jobLink(job.retried_by)) : null,
      this.rows.map(({ label, value }) => row(label, value)));
    this.show(job);
  }

  show(job) {
    this.rows.forEach(({ text, value }) => setText(value, text(job) || kUnknown));
  }
}
