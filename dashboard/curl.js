// Commands to copy. They read the API key from the environment. `form`: pairs of field name and value. `fresh`: the
// command creates a new idempotency key each time.

const kSafe = /^[A-Za-z0-9_@%+=:,./-]+$/;

export function quoted(text) {
  return kSafe.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

// A command of the command-line client. It names this gateway's URL unless that is the default. `rest`: the arguments
// after "--".
export function cli(words, rest = "") {
  const here = location.origin === "http://127.0.0.1:8080" ? "" : ` --url ${quoted(location.origin)}`;
  return `millrace ${words}${here}${rest && ` -- ${rest}`}`;
}

// The value of the form field `file` for a local file. A name with characters that are special to curl is quoted.
export function fileOf(name, type = "") {
  const plain = /[;,"\\]|^\s|\s$/.test(name) ? `"${name.replace(/["\\]/g, "\\$&")}"` : name;
  return `@${plain}${type && `;type=${type}`}`;
}

// Text from users must not make curl read an `@file`. Control characters are removed, because terminals interpret them.
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
