// Operations on all jobs that match a filter.
import { send } from "./api.js";
import { plural } from "./format.js";

const kCallsMax = 1000;  // per operation; each call changes up to 1,000 jobs
const kReasons = { not_retryable: "cannot be retried from what is stored", succeeded: "succeeded", not_ended: "not ended yet",
  already_ended: "ended before", already_cancelling: "being cancelled already", already_retried: "retried before" };

// Returns the number of jobs that were changed, and the numbers of the others by reason.
export async function changeMatching(action, filter) {
  let changed = 0;
  const unchanged = {};
  let cursor;
  for (let calls = 0; calls === 0 || (cursor && calls < kCallsMax); ++calls) {
    const outcome = await send("POST", `/v1/admin/jobs/${action}`, { filter: { ...filter, ...(cursor ? { cursor } : {}) } });
    changed += outcome.changed;
    const others = { ...outcome.unchanged, ...(outcome.already_retried ? { already_retried: outcome.already_retried } : {}) };
    for (const [reason, jobs] of Object.entries(others)) unchanged[reason] = (unchanged[reason] ?? 0) + jobs;
    cursor = outcome.next_cursor;
  }
  return { changed, unchanged };
}

// "Unchanged: 26 jobs (cannot be retried from what is stored)"; "" if there are none.
export function unchangedText(unchanged) {
  const parts = Object.entries(unchanged ?? {}).map(([reason, jobs]) => `${plural(jobs, "job")} (${kReasons[reason] ?? reason})`);
  return parts.length ? `Unchanged: ${parts.join(", ")}` : "";
}
