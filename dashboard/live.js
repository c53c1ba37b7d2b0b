// What happens in the gateway, as the screens of administrators live by it: its stream of events, and while there is
// none, looks now and then.
import { everyWhile, follow } from "./stream.js";

const kCalmMs = 400;  // what changes faster is told together
const kSilenceMs = 10000;  // the stream has an overview every 2 s, and a look is answered sooner: else it is lost

// `onOverview(overview)` and `onJobs(changes)`, each {id, kind, tenant, status, version}, come by the stream. `look()`
// runs at once, whenever the stream begins anew, and every `ms` while there is none; `stream` false: by looks alone.
// `onLink(state)` says how it comes, as showLink has it.
export function live({ signal, ms, look, stream = true, onOverview = () => {}, onJobs = () => {}, onLink = () => {} }) {
  let up = false;
  let answered = true;
  let waiting = [];
  let timer = null;
  const tellLink = () => signal.aborted || onLink(up ? "live" : answered ? "asked" : "lost");
  const setAnswered = (now) => {
    if (answered === now) return;
    answered = now;
    tellLink();
  };
  const ask = async () => {
    const late = setTimeout(() => setAnswered(false), kSilenceMs);
    try {
      await look();
      setAnswered(true);
    } catch (error) {
      if (error.name !== "AbortError") setAnswered(Boolean(error.status));
      throw error;
    } finally {
      clearTimeout(late);
    }
  };
  const setUp = (now) => {
    if (now && !up) ask().catch(() => {});
    up = now;
    tellLink();
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
  let mine = null;
  const open = () => {
    mine = new AbortController();
    const down = () => setUp(false);
    follow("/v1/admin/events", take, { signal: mine.signal, silenceMs: kSilenceMs, onLink: (now) => now || down() }).catch(down);
  };
  const shut = () => {
    mine?.abort();
    setUp(false);
  };
  const followWhileSeen = () => {
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") open();
      else shut();
    }, { signal });
    window.addEventListener("pagehide", shut, { signal });
    signal.addEventListener("abort", () => mine?.abort());
    if (document.visibilityState === "visible") open();
  };
  if (stream) followWhileSeen();
  else tellLink();
  everyWhile(ms, () => (up ? Promise.resolve() : ask()), signal);
}

// Whether an overview counts other jobs than the one before it. It counts those of all processes: of what others than
// the asked one have done, a stream without Kafka says no more.
export function overviewWatch() {
  let last = "";
  return ({ kinds }) => {
    const before = last;
    last = JSON.stringify(kinds.map(({ kind, queued, running, waiting, day }) => [kind, queued, running, waiting, day]));
    return before !== "" && before !== last;
  };
}
