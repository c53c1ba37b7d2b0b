// Formats times, durations and sizes.

export function duration(ms) {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// "3 min ago", "in 2 h".
export function relative(time, now = Date.now()) {
  const ms = now - new Date(time).getTime();
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds < 5) return "just now";
  const [amount, unit] = seconds < 60 ? [seconds, "s"] : seconds < 3600 ? [Math.floor(seconds / 60), "min"]
    : seconds < 172800 ? [Math.floor(seconds / 3600), "h"] : [Math.floor(seconds / 86400), "d"];
  return ms >= 0 ? `${amount} ${unit} ago` : `in ${amount} ${unit}`;
}

export function clockTime(time) {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

export function minuteTime(time) {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

export function fullTime(time) {
  return new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
}

// Amounts below one dollar have three significant digits.
export function dollars(sum) {
  const number = Number(sum);
  if (number === 0 || number >= 1) return `$${number.toFixed(2)}`;
  return `$${number.toFixed(Math.min(12, 2 - Math.floor(Math.log10(number))))}`;
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  let value = count;
  for (; value >= 1024 && power < units.length - 1; ++power) value /= 1024;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

export function count(number) {
  return Number(number).toLocaleString();
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

// A position in a recording: "1:02.5".
export function timecode(seconds) {
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${(seconds - minutes * 60).toFixed(1).padStart(4, "0")}`;
}

// The wait time and the run time of a job in ms. `now`: the end of a time that has not ended.
export function waitMs(job, now = Date.now()) {
  const end = job.started_at ?? job.completed_at;
  return (end ? new Date(end).getTime() : now) - new Date(job.created_at).getTime();
}

export function runMs(job, now = Date.now()) {
  if (!job.started_at) return NaN;
  return (job.completed_at ? new Date(job.completed_at).getTime() : now) - new Date(job.started_at).getTime();
}
