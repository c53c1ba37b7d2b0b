// What happens in the gateway, as the screens of administrators live by it: its stream of events, and while there is
// none, looks now and then.
import { everyWhile, follow } from "./stream.js";

const kCalmMs = 400;  // what changes faster is told together

// `onOverview(overview)` and `onJobs(changes)`, each {id, kind, tenant, status, version}, come by the stream. `look()`
// runs at once, whenever the stream begins anew, and every `ms` while there is none. `onLink(live)` says which.
export function live({ signal, ms, look, onOverview = () => {}, onJobs = () => {}, onLink = () => {} }) {
  let up = false;
  let waiting = [];
  let timer = null;
  const setUp = (now) => {
    if (now && !up) look().catch(() => {});
    up = now;
    onLink(up);
  };
  const tell = () => {
    timer = null;
    const jobs = waiting;
    waiting = [];
    if (!signal.aborted) onJobs(jobs);
  };
  const take = (event) => {
    if (!up) setUp(true);
    if (event.type === "overview") onOverview(JSON.parse(event.data));
    if (event.type === "job") {
      waiting.push(JSON.parse(event.data));
      timer ??= setTimeout(tell, kCalmMs);
    }
    return "";
  };
  // Browsers have six connections to a server: a page that nobody sees keeps none of them.
  let stream = null;
  const open = () => {
    const mine = (stream = new AbortController());
    follow("/v1/admin/events", take, { signal: mine.signal, onLink: (now) => now || setUp(false) }).catch(() => setUp(false));
  };
  const shut = () => {
    stream?.abort();
    setUp(false);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") open();
    else shut();
  }, { signal });
  window.addEventListener("pagehide", shut, { signal });
  signal.addEventListener("abort", () => stream?.abort());
  if (document.visibilityState === "visible") open();
  everyWhile(ms, () => (up ? Promise.resolve() : look()), signal);
}
