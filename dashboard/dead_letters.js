// Dead letters: jobs that failed permanently and were not retried, by kind and error code. The jobs of a group can be retried together.
import { adviceFor } from "./advice.js";
import { getJson } from "./api.js";
import { changeMatching, unchangedText } from "./bulk.js";
import { curl } from "./curl.js";
import { button, fill, h } from "./dom.js";
import { count, plural } from "./format.js";
import { overviewChangeDetector, startLiveUpdates } from "./live_updates.js";
import { code, confirmDialog, connectionStatus, descriptionList, emptyState, errorState, heading, kindName, nameText, showConnection, timeElement } from "./components.js";
import { StableOrder, updateInPlace } from "./update_in_place.js";
import { runAction, toast } from "./toast.js";

const kPollMs = 8000;
const kRequestErrorType = "invalid_request_error";

function keyOf(group) {
  return `${group.kind} ${group.code}`;
}

function filterOf(group) {
  return { kind: group.kind, status: "failed", error: group.code };
}

function retryButton(group, refresh) {
  if (group.kind === "exec") return h("p", { class: "muted" }, "Commands cannot be retried, because their environment is not stored. Send the requests again.");
  return button(`Retry ${count(group.jobs)}`, async (event) => {
    const control = event.currentTarget;
    const isConfirmed = await confirmDialog(`Retry ${plural(group.jobs, "job")} that failed with ${group.code}?`,
      "Each retry is a new job with the same input and a new id. The failed jobs leave this page; the list of jobs keeps them until they are a week old.", "Retry them");
    if (isConfirmed) await runAction(control, async () => {
      const { changed, unchanged } = await changeMatching("retry", filterOf(group));
      toast(`${plural(changed, "new job")} created`, { detail: unchangedText(unchanged) });
      await refresh();
    });
  }, { kind: isRequestError(group) ? "" : "primary", "aria-label": `Retry all jobs that failed with ${group.code}` });
}

// The API reports these as errors of the request, but they can be temporary, or the operator can remove their cause.
const kFixableErrors = ["model_not_found", "fetch_refused", "page_timeout", "piece_timeout"];
const isRequestError = (group) => group.type === kRequestErrorType && !kFixableErrors.includes(group.code);

function retryHint(group) {
  if (!isRequestError(group) || group.kind === "exec") return null;
  return h("p", { class: "muted" }, "The request itself caused the error. Without a change it is likely to fail again.");
}

function groupCard(group, refresh) {
  const { newest } = group;
  const list = `#/jobs?${new URLSearchParams({ ...filterOf(group), all: "1" })}`;
  const message = newest.error?.message ?? "";
  return h("section", { class: "card dead-letter-group", "aria-label": `${kindName(group.kind)}: ${group.code}`, data: { key: keyOf(group) } },
    h("header", {}, h("h2", {}, h("code", {}, group.code || "no code")), h("span", { class: "muted" }, `${kindName(group.kind)} · ${plural(group.jobs, "job")}`)),
    h("p", { class: "newest-error", title: message }, message), h("p", { class: "muted" }, adviceFor(group.code)),
    descriptionList([["Newest failure", timeElement(newest.completed_at)], ["Tenant", h("strong", {}, newest.tenant)], ["Name", newest.name ? nameText(newest.name) : "–"]]),
    retryHint(group), h("div", { class: "actions" }, retryButton(group, refresh), h("a", { class: "button", href: list }, "Inspect jobs")),
    group.kind === "exec" ? null : h("details", {}, h("summary", {}, "API"),
      code(curl("POST", "/v1/admin/jobs/retry", { json: { filter: filterOf(group) } }), `Retry jobs that failed with ${group.code}`)));
}

function noDeadLettersState() {
  return emptyState("No dead letters", "Jobs that failed permanently are listed here by error code. Examples of errors are a damaged document, a failed provider, or a worker that was lost too often. Jobs are kept for a week after they end.",
    h("p", {}, "To see an example, submit an invalid document:"),
    code(curl("POST", "/v1/ocr", { json: { document: { document_url: "data:application/pdf;base64,bm90aGluZw==" } }, headers: { Prefer: "respond-async" } }), "A document that fails"));
}

// The first display sorts the groups by size. Later updates keep the order.
function render(body, order, items, refresh) {
  updateInPlace(body, items.length ? h("div", { class: "grid" }, order.apply(items, keyOf).map((group) => groupCard(group, refresh))) : noDeadLettersState());
}

export const title = "Dead letters";
export async function show(container, { signal }) {
  const body = h("div", {});
  const connection = connectionStatus();
  const order = new StableOrder();
  fill(container, heading("Dead letters", "Failed jobs by error code. Retry them when the cause is fixed.", connection), body);
  const refresh = async () => {
    const { items } = await getJson("/v1/admin/dead", { signal });
    render(body, order, items, refresh);
  };
  try {
    await refresh();
  } catch (error) {
    if (error.name !== "AbortError") fill(body, errorState(error));
  }
  const hasChanged = overviewChangeDetector();
  startLiveUpdates({ signal, pollMs: kPollMs, refresh, onConnection: (state) => showConnection(connection, state),
    onOverview: (overview) => hasChanged(overview) && refresh().catch(() => {}),
    onJobs: (changes) => changes.some((job) => job.status === "failed") && refresh().catch(() => {}) });
}
