// The markdown of a document's pages as one text, without running heads and feet. app/cli/batch/page_join.cpp does the
// same and says which lines these are.
const kPagesMin = 3;
const kLinesMax = 3;
const kNumbersMax = 4;
const kBlock = /^(#|\||!\[|>|```|[-*+] )/;
const kAmount = /\d[\d.,]*[.,]\d\d(?![.,]*\d)/;
const kBlank = /__|\\_|\.{4}/;
const kPageForm = /^(page0(of0|\/0)?|p\.0|0of0|0\/0|-0-|–0–|—0—|\[0\]|\(0\)|0)$/;
const kPageWord = /(^|[^a-z\u0080-\uffff])page 0/;

const masked = (line) => line.replace(/\d+/g, "0");
const lower = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const isPageForm = (text) => kPageForm.test(lower(text).replaceAll(" ", ""));

function mayRun(line) {
  if (new TextEncoder().encode(line).length > 200 || line.includes("\n")) return false;
  if (isPageForm(masked(line))) return true;
  return !kBlock.test(line) && !kAmount.test(line) && !kBlank.test(line) && /[a-zA-Z\u0080-\uffff].*[a-zA-Z\u0080-\uffff]|[\u0080-\uffff]/.test(line);
}

function lineAt(markdown, end) {
  const paragraphs = markdown.trim().split("\n\n");
  const line = paragraphs.at(end);
  return paragraphs.length > 1 && mayRun(line) ? line : null;
}

// More than half of all pages have one of the lines, or more than half of the left or of the right pages.
function onMost(lines, pages) {
  if (2 * lines.length > pages) return true;
  const side = lines[0].at % 2;
  return lines.every((line) => line.at % 2 === side) && 2 * lines.length > Math.floor((pages + 1 - side) / 2);
}

// Of lines that are equal but for their numbers, those that run through the pages. The numbers in the set `counting` (bits)
// count the pages, the others are constant.
function running(text, same, pages) {
  const found = new Map();
  const numbers = same[0].numbers.length;
  const form = isPageForm(text);
  const names = kPageWord.test(lower(text));
  if (same.length < kPagesMin || numbers > kNumbersMax) return [];
  for (let counting = 0; counting < 1 << numbers; counting += 1) {
    if (counting === 0 ? form : !form && !names) continue;
    const groups = new Map();
    for (const line of same) {
      const key = line.numbers.map((number, n) => ((counting >> n) & 1 ? number - line.page.index : number)).join();
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(line);
    }
    for (const group of groups.values()) {
      if (group.length >= kPagesMin && (form || onMost(group, pages))) group.forEach((line) => found.set(line.at, line));
    }
  }
  return [...found.values()];
}

function dropOne(pages, end) {
  const lines = new Map();
  for (const [at, page] of pages.entries()) {
    const line = lineAt(page.markdown, end);
    if (line === null) continue;
    const key = masked(line);
    if (!lines.has(key)) lines.set(key, []);
    lines.get(key).push({ at, page, line, numbers: (line.match(/\d+/g) ?? []).map(Number) });
  }
  const dropped = [...lines].flatMap(([text, same]) => running(text, same, pages.length));
  for (const { page, line } of dropped) {
    const text = page.markdown.trim();
    page.markdown = (end === 0 ? text.slice(line.length) : text.slice(0, -line.length)).trim();
  }
  return dropped.length > 0;
}

// A page's markdown with the tables that a provider's model returns apart from it, where it refers to them or after it.
export function withTables({ markdown, tables }) {
  const left = new Map((Array.isArray(tables) ? tables : []).filter((each) => each?.id && each.content).map((each) => [each.id, each.content]));
  const take = (id) => {
    const content = left.get(id);
    left.delete(id);
    return content;
  };
  const text = markdown.replace(/\[([^[\]]{1,256})\](\(\1\))?/g, (whole, id) => take(id) ?? whole);
  return [text, ...left.values()].filter(Boolean).join("\n\n");
}

// `pages`: of the result of a job, in order.
export function joinedPages(pages) {
  const copies = pages.map((page) => ({ index: page.index, markdown: withTables(page) }));
  for (const end of [0, -1]) {
    for (let line = 0; line < kLinesMax && dropOne(copies, end); line += 1);
  }
  return copies.map((page) => page.markdown).filter(Boolean).join("\n\n");
}
