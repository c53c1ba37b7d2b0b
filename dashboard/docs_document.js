// Lookups in the OpenAPI document.

// The node, with references resolved.
export function resolveReference(document_, node) {
  let current = node;
  while (current?.$ref) current = current.$ref.slice(2).split("/").reduce((object, key) => object[key], document_);
  return current ?? {};
}

export function exampleOf(document_, content) {
  if (content.example !== undefined) return content.example;
  return resolveReference(document_, content.schema).examples?.[0];
}
