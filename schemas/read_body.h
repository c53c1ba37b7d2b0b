#pragma once
#include <span>
#include <string>
#include <utility>

#include "schemas/error_body.h"
#include "schemas/field.h"
#include "schemas/json_body.h"

namespace millrace::schemas {

// All of `body` by `table`; `Object` is what the table's fields store into. `body` as read_json wants it.
// kBadRequest (JSON), kInvalidField with its problems; unknown fields are problems.
template <class Object>
tl::expected<Object, Refusal> read_body(std::string& body, std::span<const Field> table) {
  const auto read = read_json(body);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  Object out;
  FieldReader reader("body", *read);
  reader.read(table, read->value, &out);
  reader.refuse_unknown();
  if (!reader.problems().empty()) return tl::make_unexpected(invalid(std::move(reader.problems())));
  return out;
}

}  // namespace millrace::schemas
