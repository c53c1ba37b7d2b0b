// Renders markdown of OCR and models as nodes. HTML is not interpreted; all text becomes text nodes. Links are http(s)
// only. Images are shown only if `renderImage(name, text)` returns a node.
import { h } from "./dom.js";

const kEscape = /\\([!-/:-@[-`{-~])/g;
const kUrl = /https?:\/\/(?:\([^\s<>()]*\)|[^\s<>()\]])*(?<![.,;:!?*_~])/;

const kInline = [
  { pattern: /`+([^`]+)`+/, render: (m) => h("code", {}, m[1]) },
  { pattern: /!\[([^\]]*)\]\(([^()\s]+)(?:\s[^)]*)?\)/, render: (m, options) => options.renderImage?.(m[2], m[1]) ?? h("span", { class: "muted" }, `[${m[1] || m[2]}]`) },
  { pattern: /\[([^\]]+)\]\(([^()\s]+)(?:\s[^)]*)?\)/, render: (m, options) => link(m[2], inline(m[1], options)) },
  { pattern: /\*\*(?=\S)(.+?)(?<=\S)\*\*|(?<!\w)__(?=\S)(.+?)(?<=\S)__(?!\w)/, render: (m, options) => h("strong", {}, inline(m[1] ?? m[2], options)) },
  { pattern: /\*(?=\S)([^*]+)(?<=\S)\*|(?<!\w)_(?=\S)([^_]+)(?<=\S)_(?!\w)/, render: (m, options) => h("em", {}, inline(m[1] ?? m[2], options)) },
  { pattern: /~~(?=\S)(.+?)(?<=\S)~~/, render: (m, options) => h("s", {}, inline(m[1], options)) },
  { pattern: /<(https?:\/\/[^\s<>]+)>/, render: (m) => plainLink(m[1]) },
  { pattern: kUrl, render: (m) => plainLink(m[0]) },
  { pattern: kEscape, render: (m) => m[1] },
].map((rule) => ({ ...rule, pattern: new RegExp(rule.pattern, "g") }));

function link(target, children) {
  if (!/^https?:\/\//i.test(target)) return h("span", {}, children);
  return h("a", { href: target, rel: "noopener noreferrer", target: "_blank" }, children);
}

function plainLink(text) {
  const target = text.replace(kEscape, "$1");
  return link(target, [target]);
}

// Caches the next match of each rule until it is passed. Without the cache, each opening sign without a closing one
// would scan the rest of the text.
class MatchCache {
  constructor(text) {
    this.text = text;
    this.next = new Map();
  }
  first(from) {
    let first = null;
    for (const rule of kInline) {
      const match = this.matchOf(rule, from);
      if (match && (!first || match.index < first.match.index)) first = { rule, match };
    }
    return first;
  }
  matchOf(rule, from) {
    const known = this.next.get(rule);
    if (known === null || known?.index >= from) return known;
    rule.pattern.lastIndex = from;
    const found = rule.pattern.exec(this.text);
    this.next.set(rule, found);
    return found;
  }
}

// Returns the nodes and strings of inline text.
export function inline(text, options = {}) {
  if (text.length > kInlineMax) return [text];
  const matches = new MatchCache(text);
  const out = [];
  let from = 0;
  while (from < text.length && out.length <= kInlineNodesMax) {
    const first = matches.first(from);
    if (!first) break;
    if (first.match.index > from) out.push(text.slice(from, first.match.index));
    out.push(first.rule.render(first.match, options));
    from = first.match.index + first.match[0].length;
  }
  if (from < text.length) out.push(text.slice(from));
  return out;
}

const kItem = /^(\s*)([-*+•]|\d{1,9}[.)])\s+(.*)$/;
const kRule = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const kDivider = /^[|:\-\s]+$/;
const kInlineNodesMax = 400;  // per line; the rest of the line is shown unchanged
const kQuotesMax = 20;  // the maximum depth of nested quotes
const kInlineMax = 10000;  // a longer line is shown unchanged, because a hostile one could block the browser

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function isTable(lines, at) {
  return lines[at].includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && kDivider.test(lines[at + 1]);
}

function endsParagraph(lines, at) {
  const line = lines[at];
  return !line.trim() || /^ {0,3}(#{1,6}\s|```|~~~|>)/.test(line) || kRule.test(line) || kItem.test(line) || isTable(lines, at);
}

// Each reader parses lines from `at` on and returns {node, next}, or null if they are of another type.
function readFence(lines, at) {
  const open = /^\s*(```+|~~~+)/.exec(lines[at]);
  if (!open) return null;
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(open[1])) ++end;
  return { node: h("pre", { tabindex: "0" }, h("code", {}, lines.slice(at + 1, end).join("\n"))), next: end + 1 };
}

function readHeading(lines, at, options) {
  const found = /^ {0,3}(#{1,6})\s(.*)$/.exec(lines[at]);
  if (!found) return null;
  const level = Math.min(6, found[1].length + (options.headingsFrom ?? 1) - 1);
  return { node: h(`h${level}`, {}, inline(found[2].trim().replace(/\s#+$/, ""), options)), next: at + 1 };
}

function readRule(lines, at) {
  return kRule.test(lines[at]) ? { node: h("hr"), next: at + 1 } : null;
}

function readQuote(lines, at, options) {
  const depth = options.quotes ?? 0;
  if (depth >= kQuotesMax || !/^\s*>/.test(lines[at])) return null;
  let end = at;
  while (end < lines.length && /^\s*>/.test(lines[end])) ++end;
  const inside = lines.slice(at, end).map((line) => line.replace(/^\s*> ?/, ""));
  return { node: h("blockquote", {}, blocks(inside, { ...options, quotes: depth + 1 })), next: end };
}

function readTable(lines, at, options) {
  if (!isTable(lines, at)) return null;
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim()) ++end;
  const row = (line, tag) => h("tr", {}, cells(line).map((cell) => h(tag, tag === "th" ? { scope: "col" } : {}, inline(cell, options))));
  const head = cells(lines[at]).some(Boolean) ? h("thead", {}, row(lines[at], "th")) : null;
  const body = h("tbody", {}, lines.slice(at + 2, end).map((line) => row(line, "td")));
  const container = h("div", { class: "table-container", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", {}, head, body));
  return { node: container, next: end };
}

function readItem(lines, at, indent, options) {
  const body = [kItem.exec(lines[at])[3]];
  let end = at + 1;
  while (end < lines.length) {
    const item = kItem.exec(lines[end]);
    if (item && item[1].length <= indent) break;
    if (!item && (!lines[end].trim() || !/^\s{2,}/.test(lines[end]))) break;
    body.push(lines[end].slice(Math.min(indent + 2, lines[end].search(/\S/))));
    ++end;
  }
  const [first, ...nested] = body;
  return { node: h("li", {}, inline(first, options), nested.length ? blocks(nested, options) : null), next: end };
}

function readList(lines, at, options) {
  const first = kItem.exec(lines[at]);
  if (!first) return null;
  const ordered = /\d/.test(first[2]);
  const list = h(ordered ? "ol" : "ul", ordered ? { start: parseInt(first[2], 10) } : {});
  let next = at;
  while (next < lines.length) {
    const item = kItem.exec(lines[next]);
    if (!item || item[1].length !== first[1].length || /\d/.test(item[2]) !== ordered) break;
    const parsed = readItem(lines, next, first[1].length, options);
    list.append(parsed.node);
    next = parsed.next;
  }
  return { node: list, next };
}

function readParagraph(lines, at, options) {
  let end = at + 1;
  while (end < lines.length && !endsParagraph(lines, end)) ++end;
  const nodes = lines.slice(at, end).flatMap((line, index) => [index ? h("br") : null, inline(line.trim(), options)]);
  return { node: h("p", {}, nodes), next: end };
}

const kReaders = [readFence, readHeading, readRule, readQuote, readTable, readList, readParagraph];

function blocks(lines, options) {
  const out = [];
  for (let at = 0; at < lines.length;) {
    if (!lines[at].trim()) {
      ++at;
      continue;
    }
    for (const read of kReaders) {
      const parsed = read(lines, at, options);
      if (!parsed) continue;
      out.push(parsed.node);
      at = parsed.next;
      break;
    }
  }
  return out;
}

// `options.renderImage(name, text)` returns the node of an image, or null. `options.headingsFrom`: the heading level of `#`.
export function markdown(text, options = {}) {
  return h("div", { class: "markdown" }, blocks(text.replaceAll("\t", "    ").split(/\r?\n/), options));
}
