// Commands to copy. They read the API key from the environment.

const kSafe = /^[A-Za-z0-9_@%+=:,./-]+$/;

export function quoted(text) {
  return kSafe.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

// A command of the command-line client. It names this gateway's URL unless that is the default. `commandArguments`:
// the arguments after "--".
export function cli(command, commandArguments = "") {
  const urlOption = location.origin === "http://127.0.0.1:8080" ? "" : ` --url ${quoted(location.origin)}`;
  return `millrace ${command}${urlOption}${commandArguments && ` -- ${commandArguments}`}`;
}

// The value of the form field `file` for a local file. A name with characters that are special to curl is quoted.
export function fileOf(name, type = "") {
  const safe = /[;,"\\]|^\s|\s$/.test(name) ? `"${name.replace(/["\\]/g, "\\$&")}"` : name;
  return `@${safe}${type && `;type=${type}`}`;
}

// Text from users must not make curl read an `@file`. Control characters are removed, because terminals interpret them.
function formField(name, value) {
  const safe = String(value).replace(/[^\P{Cc}\n\t]/gu, "");
  return name === "file" ? `-F ${quoted(`file=${safe}`)}` : `--form-string ${quoted(`${name}=${safe}`)}`;
}

// `form`: pairs of field name and value. `newIdempotencyKey`: the command creates a new idempotency key each time.
// `extraOptions`: options to append.
export function curl(method, path, { json, form, headers = {}, newIdempotencyKey = false, extraOptions = [] } = {}) {
  const lines = [method === "GET" ? "curl" : `curl -X ${method}`, quoted(location.origin + path)];
  lines.push('-H "Authorization: Bearer $MILLRACE_API_KEY"');
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (json !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(json))}`);
  if (newIdempotencyKey) lines.push('-H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)"');
  for (const [name, value] of form ?? []) lines.push(formField(name, value));
  return [...lines, ...extraOptions].join(" \\\n  ").replace(/^(curl(?: -X \w+)?) \\\n {2}/, "$1 ");
}
