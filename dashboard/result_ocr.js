// Shows the pages of a document beside their markdown, as they finish.
import { getJson } from "./api.js";
import { button, fill, h, setText } from "./dom.js";
import { plural } from "./format.js";
import { markdown } from "./markdown.js";
import { joinedPages, withTables } from "./page_join.js";
import { PagePictures } from "./page_pictures.js";
import { card, copyText, download, kTerminal } from "./components.js";
import { showError } from "./toast.js";

const kBatchMs = 120;  // pages that finish within this time are requested together
const kPagesPerRequest = 50;
const kRenderedMax = 60;  // rendered at first; the others on demand

// Returns a function that renders an image of a page. The result contains the images as data URIs.
function imageRenderer(page) {
  return (name, text) => {
    const image = page.images.find((i) => i.id === name);
    if (!image?.image_base64?.startsWith("data:image/")) return null;
    return h("img", { src: image.image_base64, alt: text || name, loading: "lazy" });
  };
}

function pageWarnings(page) {
  return (page.warnings ?? []).map((warning) => h("p", { class: "notice warn" }, h("strong", {}, warning.message), " ", h("code", {}, warning.code)));
}

function pageBody(page, raw) {
  if (page.error) return h("p", { class: "notice bad" }, h("strong", {}, page.error.message), " ", h("code", {}, page.error.code));
  const text = withTables(page);
  if (!text.trim()) return h("p", { class: "muted" }, "No text found on this page.");
  return raw ? h("pre", { class: "raw", tabindex: "0" }, text) : markdown(text, { renderImage: imageRenderer(page), headingsFrom: 3 });
}

export class PageList {
  // `pictures`: the pictures of the pages, shown beside their text, or null.
  constructor(name, pictures = null) {
    this.name = name;
    this.pictures = pictures;
    this.pages = new Map();
    this.expected = [];
    this.raw = false;
    this.limit = kRenderedMax;
    this.list = h("div", { class: "pages" });
    this.more = h("div", {});
    this.toggle = button("Show the markdown", () => this.setRaw(!this.raw), { kind: "small", "aria-pressed": "false" });
    this.count = h("strong", {});
    this.toolbar = h("div", { class: "toolbar", hidden: true }, this.count, this.toggle,
      button("Copy all", () => copyText(this.text(), "Copied the markdown of all pages"), { kind: "small", iconName: "copy" }),
      button("Download .md", () => download(this.text(), `${this.name()}.md`), { kind: "small", iconName: "download" }));
    this.element = h("div", {}, this.toolbar, this.list, this.more);
  }

  text() {
    return joinedPages(this.sorted());
  }

  sorted() {
    return [...this.pages.values()].sort((a, b) => a.index - b.index);
  }

  setRaw(raw) {
    this.raw = raw;
    this.toggle.setAttribute("aria-pressed", String(raw));
    setText(this.toggle.lastChild, raw ? "Show the page" : "Show the markdown");
    this.list.replaceChildren();
    this.show();
  }

  // Adds placeholders for pages that will follow, so the layout does not shift when they arrive.
  setExpected(indexes) {
    if (this.expected.length) return;
    this.expected = indexes;
    this.show();
  }

  // The job has ended. No more pages follow.
  markEnded() {
    this.isEnded = true;
    this.list.querySelectorAll(".pending").forEach((placeholder) => setText(placeholder, "Not read: the job has ended."));
    this.show();
  }

  addPages(pages) {
    pages.forEach((page) => this.pages.set(page.index, page));
    this.show();
  }

  // Inserts missing pages in order. Pages that are already shown stay unchanged.
  show() {
    const indexes = [...new Set([...this.expected, ...this.pages.keys()])].sort((a, b) => a - b);
    const shown = new Map([...this.list.children].map((element) => [Number(element.dataset.page), element]));
    indexes.slice(0, this.limit).forEach((index, position) => {
      const element = this.elementFor(index, shown.get(index));
      if (this.list.children[position] !== element) this.list.insertBefore(element, this.list.children[position] ?? null);
    });
    this.toolbar.hidden = indexes.length === 0;
    setText(this.count, this.pages.size < indexes.length ? `${this.pages.size} of ${plural(indexes.length, "page")}` : plural(indexes.length, "page"));
    fill(this.more, indexes.length > this.limit ? button(`Show ${Math.min(kRenderedMax, indexes.length - this.limit)} more pages`, () => {
      this.limit += kRenderedMax;
      this.show();
    }) : null);
  }

  elementFor(index, current) {
    const page = this.pages.get(index);
    if (current && (!page || current.dataset.loaded)) return current;
    const element = page ? this.pageElement(page, Boolean(current)) : this.placeholder(index);
    current?.replaceWith(element);
    return element;
  }

  get hasPictures() {
    return this.pictures && !this.pictures.isDisabled;
  }

  // The placeholder of a page that is not read yet, with about the size of the page.
  placeholder(index) {
    const picture = this.hasPictures && h("div", { class: "picture is-blank" });
    return h("article", { class: "document-page has-placeholder", data: { page: index }, "aria-label": `Page ${index + 1}` }, h("header", {}, h("h3", {}, `Page ${index + 1}`)),
      h("div", { class: "with-picture" }, picture, h("div", { class: "text" }, h("p", { class: "muted pending" }, this.isEnded ? "Not read." : "Not read yet …"))));
  }

  // `hadPlaceholder`: the page replaces a placeholder, and its picture keeps the size of the placeholder.
  pageElement(page, hadPlaceholder = false) {
    const size = page.dimensions ? `${page.dimensions.width} × ${page.dimensions.height} px` : "";
    return h("article", { class: `document-page ${hadPlaceholder ? "has-placeholder" : ""}`, data: { page: page.index, loaded: "1" }, "aria-label": `Page ${page.index + 1}` },
      h("header", {}, h("h3", {}, `Page ${page.index + 1}`), h("span", { class: "muted" }, size)),
      h("div", { class: "with-picture" }, this.hasPictures && this.pictures.placeholder(hadPlaceholder ? { index: page.index } : page), h("div", { class: "text" }, pageWarnings(page), pageBody(page, this.raw))));
  }
}

// The indexes of the pages that a job reads.
export function expectedPages(total, originalRequest) {
  const selected = originalRequest?.body.pages;
  return selected?.length === total ? selected : Array.from({ length: total }, (_, index) => index);
}

// Requests pages when events report them. One request covers pages that finish together.
export class PageFeed {
  constructor(id, onPages, signal) {
    Object.assign(this, { path: `/v1/jobs/${id}/result`, onPages, signal, pending: new Set(), timer: null });
  }

  requestPage(index) {
    this.pending.add(index);
    this.timer ??= setTimeout(() => this.requestPending(), kBatchMs);
  }

  async requestPending() {
    const indexes = [...this.pending].slice(0, kPagesPerRequest);
    indexes.forEach((index) => this.pending.delete(index));
    try {
      const result = await getJson(`${this.path}?partial=true&pages=${indexes.join(",")}`, { signal: this.signal });
      if (result) this.onPages(result.pages);
    } catch (error) {
      showError(error);
    }
    this.timer = this.pending.size ? setTimeout(() => this.requestPending(), kBatchMs) : null;
  }

  async all() {
    const result = await getJson(this.path, { signal: this.signal });
    if (result) this.onPages(result.pages);
    return result;
  }
}

export function ocrResult(job, signal, { note, originalRequestPromise }) {
  const pages = new PageList(() => job.id, new PagePictures(job.id, signal));
  const addPages = (list) => {
    pages.addPages(list);
    if (list.length) note.setResultShown();
  };
  const feed = new PageFeed(job.id, addPages, signal);

  async function expectPages({ progress }) {
    if (!progress?.total) return;
    const { originalRequest } = await originalRequestPromise;
    pages.setExpected(expectedPages(progress.total, originalRequest));
    note.setResultShown();
  }

  return {
    element: card("Pages", pages.element, note.element),
    async begin(now) {
      try {
        if (now.status === "succeeded") await feed.all();
        else if (!kTerminal.has(now.status)) await expectPages(now);
      } catch (error) {
        showError(error);
      }
    },
    onEvent(event) {
      if (event.type === "progress" && !kTerminal.has(job.status)) expectPages({ progress: event.data });
      if (event.type === "page" && !pages.pages.has(event.data.index) && job.status !== "succeeded") feed.requestPage(event.data.index);
    },
    async finish(now) {
      if (now.status === "succeeded") await feed.all();
      pages.markEnded();
    },
  };
}
