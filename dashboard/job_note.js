// A note in place of a job's result: the job is queued or running, or the reason why there is no result.
import { adviceFor } from "./advice.js";
import { fill, h } from "./dom.js";
import { duration, ran } from "./format.js";
import { empty, kTerminal, pausedNote } from "./parts.js";

const kMeanwhile = "Results appear here as they arrive; you can leave this page.";
const kEnds = {
  failed: ["Failed", "No details are available."],
  expired: ["Expired", adviceFor("job_expired")],
  cancelled: ["Cancelled", "The job was cancelled. Partial results are shown."],
};

function ended(job) {
  const [title, about] = kEnds[job.status];
  if (!job.error) return h("div", { class: "notice idle" }, h("strong", {}, title), h("p", {}, about));
  return h("div", { class: "notice bad", role: "alert" },
    h("strong", {}, job.error.message), h("p", {}, adviceFor(job.error.code), " ", h("code", {}, job.error.code)));
}

export class JobNote {
  constructor() {
    this.element = h("div", { class: "job-note" });
    this.hasResult = false;
    this.said = "";
  }

  // A result is shown, so the note for a waiting job is removed.
  give() {
    this.hasResult = true;
    if (this.job) this.show(this.job);
  }

  show(job) {
    this.job = job;
    const said = JSON.stringify([job.status, job.paused, job.error, this.hasResult]);
    if (said === this.said) return;
    this.said = said;
    fill(this.element, this.words(job));
  }

  words(job) {
    if (job.status === "succeeded") return null;
    if (kTerminal.has(job.status)) return ended(job);
    if (job.status === "queued" && job.paused) return pausedNote(job.kind);
    if (this.hasResult) return null;
    return job.status === "running" ? empty("Running", kMeanwhile) : empty("Queued", kMeanwhile);
  }
}

// The state of the job in one line, for the top of the screen.
export function lineOf(job) {
  const { done, total } = job.progress ?? {};
  if (job.status === "succeeded") return `Done in ${duration(ran(job))}`;
  if (kTerminal.has(job.status)) return job.error?.message ?? kEnds[job.status][0];
  if (job.cancel_requested) return "Being cancelled";
  if (job.status === "wake_in_progress") return "The machine is waking up";
  if (job.status === "queued") return job.paused ? `The queue ${job.kind} is paused` : "Queued";
  return total ? `${done} of ${total} ${job.kind === "ocr" ? "pages" : "parts"}` : "Running";
}
