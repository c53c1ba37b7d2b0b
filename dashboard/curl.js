// Commands that people can copy. `form`: pairs of a field and what it says. The key stays out of them: it is read from the environment.
// `fresh`: with an idempotency key of its own each time.

const kSafe = /^[A-Za-z0-9_@%+=:,./-]+$/;

export function quoted(text) {
  return kSafe.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

// Words of the command-line program, which asks this gateway where it would not by itself. `rest`: behind "--".
export function cli(words, rest = "") {
  const here = location.origin === "http://127.0.0.1:8080" ? "" : ` --url ${quoted(location.origin)}`;
  return `millrace ${words}${here}${rest && ` -- ${rest}`}`;
}

// What a field `file` of a form says of a file that is here: curl reads a name with signs of its own in quotes.
export function fileOf(name, type = "") {
  const plain = /[;,"\\]|^\s|\s$/.test(name) ? `"${name.replace(/["\\]/g, "\\$&")}"` : name;
  return `@${plain}${type && `;type=${type}`}`;
}

// Of what people have written curl reads no `@file`, and the terminal no control characters.
function field(name, value) {
  const plain = String(value).replace(/[^\P{Cc}\n\t]/gu, "");
  return name === "file" ? `-F ${quoted(`file=${plain}`)}` : `--form-string ${quoted(`${name}=${plain}`)}`;
}

export function curl(method, path, { json, form, headers = {}, fresh = false, more = [] } = {}) {
  const parts = [method === "GET" ? "curl" : `curl -X ${method}`, quoted(location.origin + path)];
  parts.push('-H "Authorization: Bearer $MILLRACE_API_KEY"');
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (json !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(json))}`);
  if (fresh) parts.push('-H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)"');
  for (const [name, value] of form ?? []) parts.push(field(name, value));
  return [...parts, ...more].join(" \\\n  ").replace(/^(curl(?: -X \w+)?) \\\n {2}/, "$1 ");
}
