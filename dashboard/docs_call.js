// One call of the API: parameters, responses and an example command.
import { h } from "./dom.js";
import { commandOf } from "./docs_curl.js";
import { exampleOf, resolveReference } from "./docs_document.js";
import { inline } from "./markdown.js";
import { code } from "./components.js";

function nameOf(node) {
  return node?.$ref?.split("/").at(-1);
}

// "integer, 1 to 200, default 50".
function typeText(document_, node) {
  const schema = resolveReference(document_, node);
  if (schema.enum) return schema.enum.filter((v) => v !== null).map((v) => JSON.stringify(v)).join(", ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const alternatives = schema.oneOf ?? schema.anyOf;
  const types = alternatives ? alternatives.map((each) => resolveReference(document_, each).type ?? "object") : [schema.type ?? (schema.properties ? "object" : "any")].flat();
  const phrases = [types.filter((type) => type !== "null").join(" or ")];
  if (schema.type === "array" || [schema.type].flat().includes("array")) phrases[0] = `array of ${typeText(document_, schema.items ?? {})}`;
  const minimum = schema.minimum ?? schema.minLength ?? schema.minItems;
  const maximum = schema.maximum ?? schema.maxLength ?? schema.maxItems;
  if (minimum !== undefined && maximum !== undefined) phrases.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) phrases.push(`from ${minimum}`);
  else if (maximum !== undefined) phrases.push(`up to ${maximum}`);
  if (schema.format) phrases.push(schema.format);
  if (schema.default !== undefined && schema.default !== null) phrases.push(`default ${JSON.stringify(schema.default)}`);
  return phrases.join(", ");
}

function row(document_, name, node, isRequired, parameterLocation = "") {
  const schema = resolveReference(document_, node);
  const text = node.description ?? schema.description ?? "";
  return h("tr", {},
    h("th", { scope: "row" }, h("code", {}, name), isRequired && h("span", { class: "required" }, " required")),
    h("td", {}, parameterLocation && h("span", { class: "muted" }, `${parameterLocation} · `), typeText(document_, node.schema ?? node)),
    h("td", {}, inline(text), schema.deprecated && h("span", { class: "muted" }, " (deprecated)")));
}

function table(label, rows) {
  return h("div", { class: "table-container", tabindex: "0", role: "group", "aria-label": label },
    h("table", { class: "fields", "aria-label": label },
      h("thead", {}, h("tr", {}, ["Name", "Type", "Description"].map((heading) => h("th", { scope: "col" }, heading)))),
      h("tbody", {}, rows)));
}

// Every call has x-request-id. The introduction of the page describes it once.
function parameters(document_, operation) {
  const all = (operation.parameters ?? []).map((each) => resolveReference(document_, each)).filter((each) => each.name !== "x-request-id");
  if (!all.length) return null;
  return [h("h4", {}, "Parameters"), table("Parameters", all.map((each) => row(document_, each.name, each, each.required, each.in)))];
}

// The fields of nested objects have separate rows: `document.document_url`.
function fieldRows(document_, schema, prefix = "", depth = 0) {
  return Object.entries(schema.properties ?? {}).flatMap(([name, node]) => {
    const inner = resolveReference(document_, node);
    const own = row(document_, prefix + name, node, schema.required?.includes(name));
    return [own, ...(depth < 2 && inner.properties ? fieldRows(document_, inner, `${prefix}${name}.`, depth + 1) : [])];
  });
}

function body(document_, operation) {
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (!content) return null;
  const schema = resolveReference(document_, content.schema);
  const optional = operation.requestBody.required ? "" : " (optional)";
  return [h("h4", {}, `Body: ${type}${optional}`), table("Fields of the body", fieldRows(document_, schema))];
}

function responseSection(document_, status, response) {
  const described = resolveReference(document_, response);
  const contents = Object.entries(described.content ?? {});
  const headers = Object.keys(described.headers ?? {}).filter((name) => name !== "x-request-id");
  return [h("h4", {}, h("span", { class: "mono" }, `${status} `), inline(described.description ?? "")),
    headers.length ? h("p", { class: "muted" }, "Headers: ", headers.map((name, i) => [i ? ", " : "", h("code", {}, name)])) : null,
    contents.map(([type, content]) => {
      const example = exampleOf(document_, content);
      const about = `${type}${nameOf(content.schema) ? `, ${nameOf(content.schema)}` : ""}`;
      if (example === undefined) return h("p", { class: "muted" }, about);
      return code(typeof example === "string" ? example : JSON.stringify(example, null, 2), `${status}: ${about}`);
    })];
}

// The responses are rendered when they are first opened, because all of them would make the page long.
function responseList(document_, label, responses) {
  if (!responses.length) return null;
  const container = h("div", {});
  const about = `${label}: ${responses.map(([status]) => status).join(", ")}`;
  const details = h("details", {}, h("summary", {}, about), container);
  details.addEventListener("toggle", () => {
    if (details.open && !container.children.length) container.append(...responses.map(([status, response]) => h("div", {}, responseSection(document_, status, response))));
  });
  return details;
}

function isSuccess([status]) {
  return Number(status) < 400;
}

export function callSection(document_, { path, method, operation }) {
  const id = operation.operationId;
  const responses = Object.entries(operation.responses);
  const searchText = [method, path, id, operation.summary, operation.description, ...responses.map(([status]) => status)].join(" ").toLowerCase();
  const paragraphs = (operation.description ?? "").split("\n\n").filter(Boolean);
  return h("article", { class: "card call", id, data: { searchText }, "aria-labelledby": `${id}-name` },
    h("h3", { id: `${id}-name` }, h("span", { class: `method ${method}` }, method.toUpperCase()),
      h("a", { href: `#${id}` }, h("code", {}, path))),
    h("p", {}, h("strong", {}, inline(operation.summary))), paragraphs.map((text) => h("p", {}, inline(text))),
    code(commandOf(document_, path, method, operation), `Command for ${operation.summary}`),
    parameters(document_, operation), body(document_, operation),
    responseList(document_, "Responses", responses.filter(isSuccess)), responseList(document_, "Errors", responses.filter((each) => !isSuccess(each))));
}
