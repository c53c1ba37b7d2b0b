// The pages of a document beside their markdown, as they finish.
import { getJson } from "./api.js";
import { button, fill, h } from "./dom.js";
import { plural } from "./format.js";
import { markdown } from "./markdown.js";
import { PagePictures } from "./page_picture.js";
import { card, copyText, save, waiting } from "./parts.js";
import { tellError } from "./toast.js";

const kGatherMs = 120;  // pages that finish together are asked for together
const kPagesPerAsk = 50;
const kShownMost = 60;  // rendered at once; the others on demand

// A picture of a page, which the result has as a data URI.
function pictureOf(page) {
  return (name, text) => {
    const image = page.images.find((i) => i.id === name);
    if (!image?.image_base64?.startsWith("data:image/")) return null;
    return h("img", { src: image.image_base64, alt: text || name, loading: "lazy" });
  };
}

function pageBody(page, raw) {
  if (page.error) return h("p", { class: "notice bad" }, h("strong", {}, page.error.message), " ", h("code", {}, page.error.code));
  if (!page.markdown.trim()) return h("p", { class: "faint" }, "Nothing to read on this page.");
  return raw ? h("pre", { class: "raw", tabindex: "0" }, page.markdown) : markdown(page.markdown, { picture: pictureOf(page), headingsFrom: 3 });
}

export class PageList {
  // `pictures`: of the pages, beside their text; null: there are none.
  constructor(name, pictures = null) {
    this.name = name;
    this.pictures = pictures;
    this.pages = new Map();
    this.raw = false;
    this.most = kShownMost;
    this.list = h("div", { class: "pages" });
    this.more = h("div", {});
    this.toggle = button("Show the markdown", () => this.setRaw(!this.raw), { kind: "small", "aria-pressed": "false" });
    this.bar = h("div", { class: "bar", hidden: true }, h("strong", {}), this.toggle,
      button("Copy all", () => copyText(this.text(), "The markdown of all pages is copied"), { kind: "small", iconName: "copy" }),
      button("Download .md", () => save(this.text(), `${this.name()}.md`), { kind: "small", iconName: "drop" }));
    this.element = h("div", {}, this.bar, this.list, this.more);
  }

  text() {
    return this.sorted().map((page) => page.markdown).join("\n\n");
  }

  sorted() {
    return [...this.pages.values()].sort((a, b) => a.index - b.index);
  }

  setRaw(raw) {
    this.raw = raw;
    this.toggle.setAttribute("aria-pressed", String(raw));
    this.toggle.lastChild.textContent = raw ? "Show the page" : "Show the markdown";
    this.list.replaceChildren();
    this.show();
  }

  take(pages) {
    pages.forEach((page) => this.pages.set(page.index, page));
    this.show();
  }

  // Puts in what is missing, in order; what is there stays as it is.
  show() {
    const pages = this.sorted();
    const shown = new Map([...this.list.children].map((element) => [Number(element.dataset.page), element]));
    const wanted = pages.slice(0, this.most);
    wanted.forEach((page, place) => {
      const element = shown.get(page.index) ?? this.sheet(page);
      if (this.list.children[place] !== element) this.list.insertBefore(element, this.list.children[place] ?? null);
    });
    this.bar.hidden = pages.length === 0;
    this.bar.firstChild.textContent = plural(pages.length, "page");
    fill(this.more, pages.length > this.most ? button(`Show ${Math.min(kShownMost, pages.length - this.most)} more pages`, () => {
      this.most += kShownMost;
      this.show();
    }) : null);
  }

  sheet(page) {
    const size = page.dimensions ? `${page.dimensions.width} × ${page.dimensions.height} px` : "";
    const picture = this.pictures && !this.pictures.gone && this.pictures.place(page);
    return h("article", { class: "sheet", data: { page: page.index }, "aria-label": `Page ${page.index + 1}` },
      h("header", {}, h("h3", {}, `Page ${page.index + 1}`), h("span", { class: "faint" }, size)),
      h("div", { class: "pictured" }, picture, h("div", { class: "text" }, pageBody(page, this.raw))));
  }
}

export function ocrResult(job, signal) {
  const pages = new PageList(() => job.id, new PagePictures(job.id, signal));
  const note = h("div", {}, waiting(job));
  const missing = new Set();
  let timer = null;

  async function ask() {
    timer = null;
    const wanted = [...missing].slice(0, kPagesPerAsk);
    wanted.forEach((index) => missing.delete(index));
    try {
      const result = await getJson(`/v1/jobs/${job.id}/result?partial=true&pages=${wanted.join(",")}`, { signal });
      if (result) pages.take(result.pages);
    } catch (error) {
      tellError(error);
    }
    if (pages.pages.size) note.replaceChildren();
    if (missing.size) timer = setTimeout(ask, kGatherMs);
  }

  async function all() {
    const result = await getJson(`/v1/jobs/${job.id}/result`, { signal });
    if (result) pages.take(result.pages);
    note.replaceChildren();
  }

  return {
    element: card("Pages", note, pages.element),
    async begin(now) {
      try {
        if (now.status === "succeeded") await all();
      } catch (error) {
        tellError(error);
      }
    },
    onEvent(event) {
      if (event.type !== "page" || pages.pages.has(event.data.index) || job.status === "succeeded") return;
      missing.add(event.data.index);
      timer ??= setTimeout(ask, kGatherMs);
    },
    async finish(now) {
      if (now.status === "succeeded") await all();
      else if (!pages.pages.size) fill(note, waiting(now));
    },
  };
}
