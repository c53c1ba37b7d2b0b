// The facts of a job. All rows exist from the start, so the layout does not shift when a value arrives.
import { h, setText } from "./dom.js";
import { count, duration, fullTime, ran, waited } from "./format.js";
import { kTerminal } from "./parts.js";

const kUnknown = "–";

// Amounts below one dollar have three significant digits.
function dollars(sum) {
  const number = Number(sum);
  if (number === 0 || number >= 1) return `$${number.toFixed(2)}`;
  return `$${number.toFixed(Math.min(12, 2 - Math.floor(Math.log10(number))))}`;
}

function tokens({ usage }) {
  return usage && `${count(usage.prompt_tokens ?? 0)} in, ${count(usage.completion_tokens ?? 0)} out`;
}

const over = (job) => kTerminal.has(job.status);

const kOfAll = [
  ["Wait time", (job) => duration(waited(job))], ["Run time", (job) => job.started_at && duration(ran(job))],
  ["Attempts", (job) => String(job.attempt)]];
const kParts = (job) => job.progress && `${count(job.progress.done)} of ${count(job.progress.total)}`;
const kOfKind = {
  ocr: [["Pages", kParts]],
  stt: [["Parts", kParts]],
  chat: [["Answered by", (job) => job.answered_by], ["Tokens", tokens],
    ["Cost", (job) => (job.cost_usd === undefined ? job.usage && "unknown" : dollars(job.cost_usd))],
    ["Dropped parameters", (job) => job.dropped_params ?? (job.usage && "none")]],
};

function row(word, value) {
  return h("div", {}, h("dt", {}, word), value);
}

export class JobFacts {
  constructor(job) {
    this.rows = [...kOfAll, ...(kOfKind[job.kind] ?? []), ["Kept until", (now) => over(now) && fullTime(now.expires_at)]]
      .map(([word, text]) => ({ text, value: h("dd", {}), word }));
    this.element = h("dl", { class: "facts" },
      job.model && job.kind !== "exec" ? row("Model", h("dd", {}, job.model)) : null,
      row("Created", h("dd", {}, h("time", { datetime: job.created_at }, fullTime(job.created_at)))),
      job.retry_of ? row("Retry of", h("dd", {}, h("a", { href: `#/jobs/${job.retry_of}`, class: "mono" }, job.retry_of))) : null,
      this.rows.map(({ word, value }) => row(word, value)));
    this.show(job);
  }

  show(job) {
    this.rows.forEach(({ text, value }) => setText(value, text(job) || kUnknown));
  }
}
