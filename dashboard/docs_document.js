// What an OpenAPI document says in two places.

// The node itself, or what it refers to.
export function follow(document_, node) {
  let at = node;
  while (at?.$ref) at = at.$ref.slice(2).split("/").reduce((place, key) => place[key], document_);
  return at ?? {};
}

export function exampleOf(document_, content) {
  if (content.example !== undefined) return content.example;
  return follow(document_, content.schema).examples?.[0];
}
