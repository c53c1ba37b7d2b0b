// The state of a batch in words and figures.
import { h } from "./dom.js";
import { count, duration, plural } from "./format.js";
import { chip } from "./components.js";

const kRateWindowMs = 60000;
const kRateTimeMinMs = 1000;
const kSecondMs = 1000;  // the times of a batch are no more precise
const kUnknown = "–";

const kOverStates = new Set(["completed", "failed", "expired", "cancelled"]);
const kChipClasses = { validating: "running", in_progress: "running", finalizing: "running", completed: "succeeded" };

export function isOver(batch) {
  return kOverStates.has(batch.status);
}

export function batchChip(status) {
  return chip(status, kChipClasses[status] ?? status);
}

// A batch has its times in seconds.
export function isoTime(seconds) {
  return new Date(seconds * 1000).toISOString();
}

export function endedAt(batch) {
  return batch.completed_at ?? batch.failed_at ?? batch.expired_at ?? batch.cancelled_at;
}

export function doneLines({ request_counts: { completed, failed } }) {
  return completed + failed;
}

// How fast lines end, from the counts of the polls of the last minute.
export class LineRate {
  constructor() {
    this.samples = [];
  }

  add(done, now = Date.now()) {
    this.samples.push({ done, now });
    while (this.samples.length > 2 && this.samples[1].now <= now - kRateWindowMs) this.samples.shift();
  }

  // Lines per ms; NaN until they are known.
  get perMs() {
    const [first, last] = [this.samples[0], this.samples.at(-1)];
    return last && last.now - first.now >= kRateTimeMinMs ? (last.done - first.done) / (last.now - first.now) : NaN;
  }
}

function rateText(perMs) {
  const perMinute = perMs * 60000;
  if (!Number.isFinite(perMinute)) return kUnknown;
  return perMinute > 0 && perMinute < 10 ? perMinute.toFixed(1) : count(Math.round(perMinute));
}

function share(part, total) {
  if (!total) return "";
  const percent = (part / total) * 100;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.floor(percent)} %`;
}

// What has become of the batch, as one sentence.
export function statusSentence(batch) {
  const { total, failed } = batch.request_counts;
  const lost = failed ? `; ${plural(failed, "line")} failed` : "";
  switch (batch.status) {
    case "validating": return "The lines of the input are checked before any is sent.";
    case "in_progress": return `${count(doneLines(batch))} of ${plural(total, "line")} have ended${lost}.`;
    case "finalizing": return "All lines have ended. The files of the output are being written.";
    case "cancelling": return "It is being cancelled: lines that run are stopped, and no more are sent.";
    case "completed": return `All lines have ended${lost}.`;
    case "failed": return "The input is not valid, so no line was sent.";
    case "expired": return `The completion window ended before all lines did${lost}.`;
    case "cancelled": return `It was cancelled${lost}. What had ended before is in the output.`;
    default: return batch.status;
  }
}

function stat(name, value, note, className = "") {
  return h("div", { class: `stat ${className}` }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), h("span", { class: "muted" }, note || "\u00a0")));
}

// The figures of a batch. While it runs: the rate of the last minute and the time that is left; afterwards: the average
// rate and the duration.
export function batchStats(batch, rate, now = Date.now()) {
  const { total, completed, failed } = batch.request_counts;
  const over = isOver(batch);
  const left = total - doneLines(batch);
  const took = batch.in_progress_at ? (over ? endedAt(batch) * 1000 : now) - batch.in_progress_at * 1000 : NaN;
  const perMs = over ? doneLines(batch) / took : rate.perMs;
  const time = over ? ["Duration", took < kSecondMs ? "< 1 s" : duration(took), "after its check"]
    : ["Time left", perMs > 0 && left > 0 ? duration(left / perMs) : kUnknown, left > 0 ? `${plural(left, "line")} left` : ""];
  return h("dl", { class: "stats" }, stat("Lines", count(total), "in the input"),
    stat("Completed", count(completed), share(completed, total)), stat("Failed", count(failed), share(failed, total), failed ? "bad" : ""),
    stat(over ? "Average rate" : "Rate", rateText(perMs), "lines per minute"), stat(...time, "time"));
}
