// Lookups in the OpenAPI document.

// The node, with references resolved.
export function follow(document_, node) {
  let at = node;
  while (at?.$ref) at = at.$ref.slice(2).split("/").reduce((place, key) => place[key], document_);
  return at ?? {};
}

export function exampleOf(document_, content) {
  if (content.example !== undefined) return content.example;
  return follow(document_, content.schema).examples?.[0];
}
