// The shell: sign-in, navigation, theme and keyboard shortcuts. The hash of the URL selects the screen.
import { getJson, session, setSignedOutHandler } from "./api.js";
import { button, fill, h, icon, setText } from "./dom.js";
import { field } from "./components.js";
import { registerShortcuts, showKeyboardHelp } from "./keyboard.js";
import { showError } from "./toast.js";
import * as batch from "./batch.js";
import * as batches from "./batches.js";
import * as deadLetters from "./dead_letters.js";
import * as upload from "./upload.js";
import * as job from "./job.js";
import * as jobs from "./jobs.js";
import * as machines from "./machines.js";
import * as keys from "./keys.js";
import * as machine from "./machine.js";
import * as models from "./models.js";
import * as overview from "./overview.js";
import * as playground from "./playground.js";
import * as usage from "./usage.js";
import * as workers from "./workers.js";

// In navigation order. `name`: the route, in the hash of the URL. `iconName`: the icon, if it is not `name`. `detail`: the
// screen of one item. `admin`: shown only to keys with the scope `admin`.
const kScreens = [
  { name: "overview", screen: overview, admin: true },
  { name: "jobs", screen: jobs, detail: job },
  { name: "batches", screen: batches, detail: batch },
  { name: "drop", screen: upload, iconName: "download" },
  { name: "playground", screen: playground },
  { name: "machines", screen: machines, detail: machine },
  { name: "models", screen: models },
  { name: "workers", screen: workers, admin: true },
  { name: "dead", screen: deadLetters, iconName: "dead_letters", admin: true },
  { name: "keys", screen: keys, admin: true },
  { name: "usage", screen: usage },
];

const shell = document.getElementById("shell");
let main = null;
let screenAbort = null;  // aborted when the screen changes; cancels its requests
let shownPath = null;
let isAdmin = false;
let managesKeys = false;  // has `admin` or `tenant:admin`

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("millrace.theme", theme);
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

function switchTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(dark ? "light" : "dark");
}

function signOut(reason) {
  screenAbort?.abort();
  session.end(reason);
  location.reload();  // removes the data of this session from the page
}

function brand() {
  return h("a", { class: "brand", href: "#/" }, h("img", { src: "/dashboard/icon.svg", alt: "", width: "28", height: "28" }), h("span", {}, "Millrace"));
}

function visibleScreens() {
  return kScreens.filter((s) => isAdmin || !s.admin || (s.name === "keys" && managesKeys));
}

function showShell() {
  const about = h("p", { class: "about muted" }, location.host);
  getJson("/version").then(({ version }) => setText(about, `Millrace ${version} · ${location.host}`), () => {});
  const nav = h("nav", { id: "nav", "aria-label": "Screens" }, h("ul", {}, visibleScreens().map(({ name, screen, iconName = name }) =>
    h("li", {}, h("a", { href: `#/${name}`, data: { name } }, icon(iconName), h("span", {}, screen.title))))), about);
  const menu = h("button", { type: "button", class: "plain menu", "aria-expanded": "false", "aria-controls": "nav", "aria-label": "Menu",
    on: { click: () => openMenu(menu.getAttribute("aria-expanded") === "false") } }, icon("menu"));
  const openMenu = (open) => {
    menu.setAttribute("aria-expanded", String(open));
    nav.classList.toggle("is-open", open);
  };
  nav.addEventListener("click", (event) => event.target.closest("a") && openMenu(false));
  main = h("main", { id: "main", tabindex: "-1" });
  fill(shell, h("header", { class: "top" }, menu, brand(), h("div", { class: "tools" },
    h("a", { class: "button plain", href: "/docs", title: "API reference with a command for each call" }, icon("docs"), h("span", {}, "API")),
    button("Keyboard", showKeyboardHelp, { kind: "plain", iconName: "help", title: "Keyboard shortcuts (?)" }),
    button("Theme", switchTheme, { kind: "plain", iconName: "theme", title: "Switch between light and dark" }),
    button("Sign out", () => signOut(), { kind: "plain", iconName: "sign_out", title: "Sign out" }))), nav, main);
}

// Checks that the key is known. A missing scope is reported by the screen that needs it.
async function checkKey() {
  try {
    await getJson("/v1/models");
  } catch (error) {
    if (error.status !== 403) throw error;
  }
  isAdmin = await getJson("/v1/admin/queues").then(() => true, () => false);
  managesKeys = isAdmin || await getJson("/v1/admin/keys").then(() => true, () => false);
}

async function signIn(form) {
  const [key, keep, go] = ["key", "keep", "go"].map((name) => form.elements[name]);
  const problem = form.querySelector(".problem");
  go.disabled = true;
  problem.textContent = "";
  session.begin(key.value.trim(), keep.checked);
  try {
    await checkKey();
    showShell();
    shownPath = null;
    await showScreen();
  } catch (error) {
    session.end();
    problem.textContent = error.message;
    key.setAttribute("aria-invalid", "true");
    key.focus();
  } finally {
    go.disabled = false;
  }
}

function showSignIn(reason = "") {
  document.title = "Sign in · Millrace";
  const key = h("input", { type: "password", name: "key", required: true, autocomplete: "off", spellcheck: "false",
    placeholder: "mr_live_…", "aria-describedby": "problem" });
  const form = h("form", { class: "card sign-in", on: { submit: (event) => {
    event.preventDefault();
    signIn(form);
  } } },
  h("div", { class: "brand" }, h("img", { src: "/dashboard/icon.svg", alt: "", width: "44", height: "44" }), h("h1", {}, "Millrace")),
  h("p", { class: "muted" }, "Documents, models and commands in a durable job queue."),
  field("API key", key),
  h("label", { class: "checkbox-label" }, h("input", { type: "checkbox", name: "keep" }), h("span", {}, "Stay signed in until this tab is closed")),
  h("p", { class: "problem", id: "problem", role: "alert" }, reason),
  h("button", { type: "submit", name: "go", class: "button primary" }, "Sign in"),
  h("details", {}, h("summary", {}, "Where do I find a key?"),
    h("p", {}, "The first start writes a key to the file ", h("code", {}, "admin.key"), " in the data directory, and prints its path. The data directory is the DIR of --data DIR; the default is /var/lib/millrace (root) or ~/.local/share/millrace. To create another key, run:"),
    h("pre", { tabindex: "0" }, h("code", {}, "millrace keys create --name me"))));
  fill(shell, h("main", { id: "main", class: "sign-in-page", tabindex: "-1" }, form));
  key.focus();
}

function routeOf(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const entry = visibleScreens().find((s) => s.name === name) ?? visibleScreens()[0];
  const id = entry.detail && entry.name === name ? decodeURIComponent(rest.join("/")) : "";
  return { entry, id, path, search: new URLSearchParams(search) };
}

function replaceSearch(name) {
  return (values) => {
    const search = new URLSearchParams(Object.entries(values).filter(([, value]) => value));
    history.replaceState(null, "", `#/${name}${search.size ? `?${search}` : ""}`);
  };
}

// Closes the dialogs and error messages of the previous screen.
function closeDialogsAndErrors() {
  document.querySelectorAll("dialog[open]").forEach((dialog) => {
    dialog.dispatchEvent(new Event("cancel"));
    dialog.close();
  });
  document.querySelectorAll("#toasts .bad").forEach((toastElement) => toastElement.remove());
}

async function showScreen() {
  if (!session.key || !main) return;
  const { entry, id, path, search } = routeOf(location.hash);
  screenAbort?.abort();
  screenAbort = new AbortController();
  closeDialogsAndErrors();
  const screen = id ? entry.detail : entry.screen;
  document.title = `${screen.title} · Millrace`;
  document.querySelectorAll("#nav a").forEach((a) => {
    if (a.dataset.name === entry.name) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  });
  const container = h("div", { class: `screen ${entry.name}` });
  main.replaceChildren(container);
  const isNavigation = shownPath !== null && shownPath !== path;
  shownPath = path;
  window.scrollTo({ top: 0 });
  try {
    await screen.show(container, { id, search, signal: screenAbort.signal, isAdmin, replaceSearch: replaceSearch(entry.name) });
  } catch (error) {
    showError(error);
  }
  if (isNavigation) container.querySelector("h1")?.focus();
}

async function begin() {
  setSignedOutHandler((error) => main && signOut(error.message));
  window.addEventListener("hashchange", showScreen);
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  });
  registerShortcuts({ screens: () => visibleScreens().map((s) => [s.name, s.screen.title]), switchTheme, isSignedIn: () => main !== null });
  window.addEventListener("unhandledrejection", (event) => showError(event.reason));
  if (!session.resume()) return showSignIn(session.takeReason());
  try {
    await checkKey();
  } catch (error) {
    if (error.status === 401) session.end();
    return showSignIn(error.message);
  }
  showShell();
  return showScreen();
}

begin();
