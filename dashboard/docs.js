// The page at /docs. It shows /openapi.json; each call has a command that can be run unchanged.
import { button, fill, h } from "./dom.js";
import { callSection } from "./docs_call.js";
import { inline } from "./markdown.js";
import { emptyState } from "./components.js";

const kOppositeTheme = { light: "dark", dark: "light" };

function switchTheme() {
  const root = document.documentElement;
  const shown = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = kOppositeTheme[shown];
  try {
    localStorage.setItem("millrace.theme", root.dataset.theme);
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

// Calls by tag. Tags and paths keep the order of the document; the tag `service` comes last.
function callsOf(document_) {
  const byTag = new Map(document_.tags.map((tag) => [tag.name, []]));
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const [tag] = operation.tags;
      if (!byTag.has(tag)) byTag.set(tag, []);
      byTag.get(tag).push({ path, method, operation });
    }
  }
  const service = byTag.get("service");
  byTag.delete("service");
  return byTag.set("service", service);
}

function tableOfContents(byTag) {
  const search = h("input", { type: "search", placeholder: "Filter: /v1/jobs, wait, 422 …", "aria-label": "Filter the calls" });
  const lists = [...byTag].map(([tag, calls]) => h("div", { data: { tag } }, h("h2", {}, tag),
    h("ul", {}, calls.map((call) => h("li", {}, h("a", { href: `#${call.operation.operationId}` }, inline(call.operation.summary)))))));
  search.addEventListener("input", () => filterCalls(search.value));
  return h("nav", { class: "contents", "aria-label": "Calls" }, h("div", {}, h("div", { class: "field" }, search), lists));
}

// Shows only the calls that contain all words.
function filterCalls(text) {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const section of document.querySelectorAll("main .call")) {
    section.hidden = !terms.every((term) => section.dataset.searchText.includes(term));
    const entry = document.querySelector(`.contents a[href="#${section.id}"]`);
    entry.parentElement.hidden = section.hidden;
  }
  for (const group of document.querySelectorAll("main .group, .contents [data-tag]"))
    group.hidden = !group.querySelector(".call:not([hidden]), li:not([hidden])");
  document.getElementById("no-matches").hidden = Boolean(document.querySelector("main .call:not([hidden])"));
}

function markCurrentCall() {
  for (const link of document.querySelectorAll(".contents a[aria-current]")) link.removeAttribute("aria-current");
  const id = location.hash.slice(1);
  document.querySelector(`.contents a[href="#${CSS.escape(id)}"]`)?.setAttribute("aria-current", "true");
}

function pageHeader(version) {
  return h("header", { class: "top" },
    h("a", { class: "brand", href: "/" }, h("img", { src: "/dashboard/icon.svg", alt: "", width: "28", height: "28" }), "Millrace"),
    h("div", { class: "tools" }, h("a", { href: "/openapi.json" }, `openapi.json (${version})`),
      button("Theme", switchTheme, { kind: "plain", iconName: "theme" })));
}

function introduction() {
  return [h("h1", { tabindex: "-1" }, "API reference"),
    h("p", {}, "Every call with its fields, responses and an example command. The commands require ", h("code", {}, "curl"), ", ",
      h("code", {}, "jq"), " and an API key: ", h("code", {}, "export MILLRACE_API_KEY=mr_live_…"),
      ". The first key is in ", h("code", {}, "admin.key"), " in the data directory. To create another key, run ",
      h("code", {}, "millrace keys create --name me"), "."),
    h("p", {}, "Clients for OpenAI and for Mistral OCR work with ", h("code", {}, `${location.origin}/v1`),
      " as base URL. Every response has an ", h("code", {}, "x-request-id"), "; if the request has one, it is the same. Responses 429 and 503 have a ", h("code", {}, "retry-after"),
      " header. ", h("code", {}, "x-should-retry: false"), " means that the same request cannot succeed later.")];
}

async function show() {
  const page = document.getElementById("page");
  const response = await fetch("/openapi.json");
  if (!response.ok) throw new Error(`/openapi.json: ${response.status}`);
  const document_ = await response.json();
  const byTag = callsOf(document_);
  const groups = [...byTag].map(([tag, calls]) => h("section", { class: "group", "aria-labelledby": `tag-${tag}` },
    h("h2", { class: "tag-heading", id: `tag-${tag}` }, tag), calls.map((call) => callSection(document_, call))));
  const noMatches = h("p", { id: "no-matches", class: "muted", hidden: true }, "No call contains all of these words.");
  page.className = "docs";
  fill(page, pageHeader(document_.info.version), tableOfContents(byTag), h("main", { id: "main", tabindex: "-1" }, introduction(), noMatches, groups));
  addEventListener("hashchange", markCurrentCall);
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  markCurrentCall();
}

show().catch((error) => fill(document.getElementById("page"), h("main", { id: "main" },
  h("h1", {}, "API reference"), emptyState("The API document cannot be loaded", `${error.message}. Check that the gateway is running, then reload the page.`))));
