// Dead letters: jobs that failed permanently, by kind and error code. The jobs of a group can be retried together.
import { adviceFor } from "./advice.js";
import { getJson, send } from "./api.js";
import { curl } from "./curl.js";
import { button, fill, h } from "./dom.js";
import { count, plural } from "./format.js";
import { live, overviewWatch } from "./live.js";
import { code, confirmed, empty, facts, heading, kindName, linkMark, nameText, showLink, troubled, when } from "./parts.js";
import { Places, settle } from "./settle.js";
import { guarded, toast } from "./toast.js";

const kLookMs = 8000;
const kCallsMost = 1000;  // per retry; each call retries up to 1,000 jobs
const kOfTheRequest = "invalid_request_error";

function keyOf(group) {
  return `${group.kind} ${group.code}`;
}

function filterOf(group) {
  return { kind: group.kind, status: "failed", error: group.code };
}

// Retries all jobs of the group, 1,000 per call. Returns the number of new jobs.
async function retryAll(group) {
  let made = 0;
  let cursor;
  for (let calls = 0; calls === 0 || (cursor && calls < kCallsMost); ++calls) {
    const outcome = await send("POST", "/v1/admin/jobs/retry", { filter: { ...filterOf(group), ...(cursor ? { cursor } : {}) } });
    made += outcome.changed;
    cursor = outcome.next_cursor;
  }
  return made;
}

function retryButton(group, look) {
  if (group.kind === "exec") return h("p", { class: "faint" }, "Commands cannot be retried, because their environment is not stored. Send the requests again.");
  return button(`Retry ${count(group.jobs)}`, async (event) => {
    const control = event.currentTarget;
    const sure = await confirmed(`Retry ${plural(group.jobs, "job")} that failed with ${group.code}?`,
      "Each retry is a new job with the same input and a new id. The failed jobs stay in the list until they are a week old.", "Retry them");
    if (sure) await guarded(control, async () => {
      toast(`${plural(await retryAll(group), "new job")} created`);
      await look();
    });
  }, { kind: isOfTheRequest(group) ? "" : "primary", "aria-label": `Retry all jobs that failed with ${group.code}` });
}

// Errors that can be temporary, or whose cause the operator can remove.
const kCanBeMended = ["model_not_found", "fetch_refused", "page_timeout", "piece_timeout"];
const isOfTheRequest = (group) => group.type === kOfTheRequest && !kCanBeMended.includes(group.code);

function retryHint(group) {
  if (!isOfTheRequest(group) || group.kind === "exec") return null;
  return h("p", { class: "faint" }, "The request itself caused the error. Without a change it is likely to fail again.");
}

function groupCard(group, look) {
  const { newest } = group;
  const list = `#/jobs?${new URLSearchParams({ ...filterOf(group), all: "1" })}`;
  const said = newest.error?.message ?? "";
  return h("section", { class: "card dead-group", "aria-label": `${kindName(group.kind)}: ${group.code}`, data: { key: keyOf(group) } },
    h("header", {}, h("h2", {}, h("code", {}, group.code || "no code")), h("span", { class: "faint" }, `${kindName(group.kind)} · ${plural(group.jobs, "job")}`)),
    h("p", { class: "said-last", title: said }, said), h("p", { class: "faint" }, adviceFor(group.code)),
    facts([["Newest failure", when(newest.completed_at)], ["Tenant", h("strong", {}, newest.tenant)], ["Name", newest.name ? nameText(newest.name) : "–"]]),
    retryHint(group), h("div", { class: "actions" }, retryButton(group, look), h("a", { class: "button", href: list }, "Inspect jobs")),
    group.kind === "exec" ? null : h("details", {}, h("summary", {}, "API"),
      code(curl("POST", "/v1/admin/jobs/retry", { json: { filter: filterOf(group) } }), `Retry jobs that failed with ${group.code}`)));
}

function nothing() {
  return empty("No dead letters", "Jobs that failed permanently are listed here by error code. Examples of errors are a damaged document, a failed provider, or a worker that was lost too often. Jobs are kept for a week after they end.",
    h("p", {}, "To see an example, submit an invalid document:"),
    code(curl("POST", "/v1/ocr", { json: { document: { document_url: "data:application/pdf;base64,bm90aGluZw==" } }, headers: { Prefer: "respond-async" } }), "A document that fails"));
}

// The first display sorts the groups by size. Later updates keep the order.
function draw(body, places, items, look) {
  settle(body, items.length ? h("div", { class: "grid dead" }, places.order(items, keyOf).map((group) => groupCard(group, look))) : nothing());
}

export const title = "Dead letters";
export async function show(place, { signal }) {
  const body = h("div", {});
  const link = linkMark();
  const places = new Places();
  fill(place, heading("Dead letters", "Failed jobs by error code. Retry them when the cause is fixed.", link), body);
  const look = async () => {
    const { items } = await getJson("/v1/admin/dead", { signal });
    draw(body, places, items, look);
  };
  try {
    await look();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, troubled(error));
  }
  const moved = overviewWatch();
  live({ signal, ms: kLookMs, look, onLink: (state) => showLink(link, state),
    onOverview: (overview) => moved(overview) && look().catch(() => {}),
    onJobs: (changes) => changes.some((job) => job.status === "failed") && look().catch(() => {}) });
}
