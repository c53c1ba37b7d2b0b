// Dead letters: what failed for good, by kind and reason; made anew together once the cause is gone.
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
const kCallsMost = 1000;  // of one retry: 1,000 jobs each
const kOfTheRequest = "invalid_request_error";

function keyOf(group) {
  return `${group.kind} ${group.code}`;
}

function filterOf(group) {
  return { kind: group.kind, status: "failed", error: group.code };
}

// All of them, a thousand at a time; how many new jobs there are.
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
  if (group.kind === "exec") return h("p", { class: "faint" }, "Commands are not run again by themselves: their environment is gone. Ask for them anew.");
  return button(`Retry ${count(group.jobs)}`, async (event) => {
    const control = event.currentTarget;
    const sure = await confirmed(`Retry ${plural(group.jobs, "job")} that failed of ${group.code}?`,
      "Each is made anew from its input, with an id of its own. Those that failed stay in the list until they are a week old.", "Retry them");
    if (sure) await guarded(control, async () => {
      toast(`${plural(await retryAll(group), "new job")} created`);
      await look();
    });
  }, { kind: isOfTheRequest(group) ? "" : "primary", "aria-label": `Retry all that failed of ${group.code}` });
}

// Of these the operator can remove the cause, or it may pass.
const kCanBeMended = ["model_not_found", "fetch_refused", "page_timeout", "piece_timeout"];
const isOfTheRequest = (group) => group.type === kOfTheRequest && !kCanBeMended.includes(group.code);

function retryHint(group) {
  if (!isOfTheRequest(group) || group.kind === "exec") return null;
  return h("p", { class: "faint" }, "The request itself is the reason: made anew as it is, it is likely to fail again.");
}

function groupCard(group, look) {
  const { newest } = group;
  const list = `#/jobs?${new URLSearchParams({ ...filterOf(group), all: "1" })}`;
  const said = newest.error?.message ?? "";
  return h("section", { class: "card dead-group", "aria-label": `${kindName(group.kind)}: ${group.code}`, data: { key: keyOf(group) } },
    h("header", {}, h("h2", {}, h("code", {}, group.code || "no code")), h("span", { class: "faint" }, `${kindName(group.kind)} · ${plural(group.jobs, "job")}`)),
    h("p", { class: "said-last", title: said }, said), h("p", { class: "faint" }, adviceFor(group.code)),
    facts([["The newest", when(newest.completed_at)], ["Tenant", h("strong", {}, newest.tenant)], ["Name", newest.name ? nameText(newest.name) : "–"]]),
    retryHint(group), h("div", { class: "actions" }, retryButton(group, look), h("a", { class: "button", href: list }, "Inspect them")),
    group.kind === "exec" ? null : h("details", {}, h("summary", {}, "API"),
      code(curl("POST", "/v1/admin/jobs/retry", { json: { filter: filterOf(group) } }), `Retry what failed of ${group.code}`)));
}

function nothing() {
  return empty("No dead letters", "A job that fails for good shows here with its reason: a document that is damaged, a provider that refused, a worker that was lost too often. Jobs are kept for a week after their end.",
    h("p", {}, "To see one, hand in a document that is none:"),
    code(curl("POST", "/v1/ocr", { json: { document: { document_url: "data:application/pdf;base64,bm90aGluZw==" } }, headers: { Prefer: "respond-async" } }), "A document that fails"));
}

// The largest first as they are first shown; then each stays where it is.
function draw(body, places, items, look) {
  settle(body, items.length ? h("div", { class: "grid dead" }, places.order(items, keyOf).map((group) => groupCard(group, look))) : nothing());
}

export const title = "Dead letters";
export async function show(place, { signal }) {
  const body = h("div", {});
  const link = linkMark();
  const places = new Places();
  fill(place, heading("Dead letters", "Jobs that failed, by reason. Retry them when the cause is gone.", link), body);
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
