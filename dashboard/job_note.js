// A note in place of a job's result: the job is queued or running, or the reason why there is no result.
import { adviceFor } from "./advice.js";
import { fill, h } from "./dom.js";
import { duration, fullTime, runMs } from "./format.js";
import { emptyState, kTerminal, pausedNote } from "./components.js";

const kPendingText = "Results appear here as they arrive; you can leave this page.";
const kEndTexts = {
  failed: ["Failed", "No details are available."],
  expired: ["Expired", adviceFor("job_expired")],
  cancelled: ["Cancelled", "The job was cancelled. Partial results are shown."],
};

function endNotice(job) {
  const [title, about] = kEndTexts[job.status];
  if (!job.error) return h("div", { class: "notice idle" }, h("strong", {}, title), h("p", {}, about));
  return h("div", { class: "notice bad", role: "alert" },
    h("strong", {}, job.error.message), h("p", {}, adviceFor(job.error.code), " ", h("code", {}, job.error.code)));
}

export class JobNote {
  constructor() {
    this.element = h("div", { class: "job-note" });
    this.hasResult = false;
    this.shownState = "";
  }

  // A result is shown, so the note of a queued or running job is removed.
  setResultShown() {
    this.hasResult = true;
    if (this.job) this.show(this.job);
  }

  show(job) {
    this.job = job;
    const state = JSON.stringify([job.status, job.paused, job.error, this.hasResult]);
    if (state === this.shownState) return;
    this.shownState = state;
    fill(this.element, this.content(job));
  }

  content(job) {
    if (job.status === "succeeded") return null;
    if (kTerminal.has(job.status)) return endNotice(job);
    if (job.status === "queued" && job.paused) return pausedNote(job.kind);
    if (this.hasResult) return null;
    if (job.status === "scheduled") return emptyState("Scheduled", `It starts at ${fullTime(job.run_at)}.`);
    return job.status === "running" ? emptyState("Running", kPendingText) : emptyState("Queued", kPendingText);
  }
}

// The state of the job in one line, for the top of the screen.
export function statusText(job) {
  const { done, total } = job.progress ?? {};
  if (job.status === "succeeded") return `Done in ${duration(runMs(job))}`;
  if (kTerminal.has(job.status)) return job.error?.message ?? kEndTexts[job.status][0];
  if (job.cancel_requested) return "Being cancelled";
  if (job.status === "wake_in_progress") return "The machine is waking up";
  if (job.status === "scheduled") return `Starts at ${fullTime(job.run_at)}`;
  if (job.status === "queued") return job.paused ? `The queue ${job.kind} is paused` : "Queued";
  return total ? `${done} of ${total} ${job.kind === "ocr" ? "pages" : "parts"}` : "Running";
}
