// One call of the API: parameters, responses and an example command.
import { h } from "./dom.js";
import { commandOf } from "./docs_curl.js";
import { exampleOf, follow } from "./docs_document.js";
import { inline } from "./markdown.js";
import { code } from "./parts.js";

function nameOf(node) {
  return node?.$ref?.split("/").at(-1);
}

// "integer, 1 to 200, default 50".
function kindOf(document_, node) {
  const schema = follow(document_, node);
  if (schema.enum) return schema.enum.filter((v) => v !== null).map((v) => JSON.stringify(v)).join(", ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const several = schema.oneOf ?? schema.anyOf;
  const types = several ? several.map((each) => follow(document_, each).type ?? "object") : [schema.type ?? (schema.properties ? "object" : "any")].flat();
  const words = [types.filter((type) => type !== "null").join(" or ")];
  if (schema.type === "array" || [schema.type].flat().includes("array")) words[0] = `array of ${kindOf(document_, schema.items ?? {})}`;
  const least = schema.minimum ?? schema.minLength ?? schema.minItems;
  const most = schema.maximum ?? schema.maxLength ?? schema.maxItems;
  if (least !== undefined && most !== undefined) words.push(`${least} to ${most}`);
  else if (least !== undefined) words.push(`from ${least}`);
  else if (most !== undefined) words.push(`up to ${most}`);
  if (schema.format) words.push(schema.format);
  if (schema.default !== undefined && schema.default !== null) words.push(`default ${JSON.stringify(schema.default)}`);
  return words.join(", ");
}

function row(document_, name, node, needed, place = "") {
  const schema = follow(document_, node);
  const text = node.description ?? schema.description ?? "";
  return h("tr", {},
    h("th", { scope: "row" }, h("code", {}, name), needed && h("span", { class: "needed" }, " required")),
    h("td", {}, place && h("span", { class: "faint" }, `${place} · `), kindOf(document_, node.schema ?? node)),
    h("td", {}, inline(text), schema.deprecated && h("span", { class: "faint" }, " (deprecated)")));
}

function table(label, rows) {
  return h("div", { class: "wide", tabindex: "0", role: "group", "aria-label": label },
    h("table", { class: "fields", "aria-label": label },
      h("thead", {}, h("tr", {}, ["Name", "Type", "Description"].map((word) => h("th", { scope: "col" }, word)))),
      h("tbody", {}, rows)));
}

// Every call has x-request-id. The introduction of the page describes it once.
function parameters(document_, operation) {
  const all = (operation.parameters ?? []).map((each) => follow(document_, each)).filter((each) => each.name !== "x-request-id");
  if (!all.length) return null;
  return [h("h4", {}, "Parameters"), table("Parameters", all.map((each) => row(document_, each.name, each, each.required, each.in)))];
}

// The fields of nested objects have separate rows: `document.document_url`.
function fieldRows(document_, schema, prefix = "", depth = 0) {
  return Object.entries(schema.properties ?? {}).flatMap(([name, node]) => {
    const inner = follow(document_, node);
    const own = row(document_, prefix + name, node, schema.required?.includes(name));
    return [own, ...(depth < 2 && inner.properties ? fieldRows(document_, inner, `${prefix}${name}.`, depth + 1) : [])];
  });
}

function body(document_, operation) {
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (!content) return null;
  const schema = follow(document_, content.schema);
  const optional = operation.requestBody.required ? "" : " (optional)";
  return [h("h4", {}, `Body: ${type}${optional}`), table("Fields of the body", fieldRows(document_, schema))];
}

function answer(document_, status, reply) {
  const described = follow(document_, reply);
  const contents = Object.entries(described.content ?? {});
  const headers = Object.keys(described.headers ?? {}).filter((name) => name !== "x-request-id");
  return [h("h4", {}, h("span", { class: "mono" }, `${status} `), inline(described.description ?? "")),
    headers.length ? h("p", { class: "faint" }, "Headers: ", headers.map((name, i) => [i ? ", " : "", h("code", {}, name)])) : null,
    contents.map(([type, content]) => {
      const example = exampleOf(document_, content);
      const about = `${type}${nameOf(content.schema) ? `, ${nameOf(content.schema)}` : ""}`;
      if (example === undefined) return h("p", { class: "faint" }, about);
      return code(typeof example === "string" ? example : JSON.stringify(example, null, 2), `${status}: ${about}`);
    })];
}

// The responses are rendered when they are first opened, because all of them would make the page long.
function answers(document_, label, replies) {
  if (!replies.length) return null;
  const place = h("div", {});
  const about = `${label}: ${replies.map(([status]) => status).join(", ")}`;
  const details = h("details", {}, h("summary", {}, about), place);
  details.addEventListener("toggle", () => {
    if (details.open && !place.children.length) place.append(...replies.map(([status, reply]) => h("div", {}, answer(document_, status, reply))));
  });
  return details;
}

function isGood([status]) {
  return Number(status) < 400;
}

export function callPart(document_, { path, method, operation }) {
  const id = operation.operationId;
  const replies = Object.entries(operation.responses);
  const words = [method, path, id, operation.summary, operation.description, ...replies.map(([status]) => status)].join(" ").toLowerCase();
  const paragraphs = (operation.description ?? "").split("\n\n").filter(Boolean);
  return h("article", { class: "card call", id, data: { words }, "aria-labelledby": `${id}-name` },
    h("h3", { id: `${id}-name` }, h("span", { class: `method ${method}` }, method.toUpperCase()),
      h("a", { href: `#${id}` }, h("code", {}, path))),
    h("p", {}, h("strong", {}, inline(operation.summary))), paragraphs.map((text) => h("p", {}, inline(text))),
    code(commandOf(document_, path, method, operation), `Command for ${operation.summary}`),
    parameters(document_, operation), body(document_, operation),
    answers(document_, "Responses", replies.filter(isGood)), answers(document_, "Errors", replies.filter((each) => !isGood(each))));
}
