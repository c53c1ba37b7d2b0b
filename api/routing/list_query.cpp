#include "api/routing/list_query.h"

#include <algorithm>

#include "api/routing/router.h"

namespace millrace::api {

bool read_query(Call& call, std::span<const schemas::Field> table, void* query) {
  auto problems = schemas::read_query(table, query_pairs(call.head().query), query);
  if (problems.empty()) return true;
  call.refuse(schemas::invalid(std::move(problems)));
  return false;
}

bool was_sent(const Call& call, std::string_view name) {
  const auto pairs = query_pairs(call.head().query);
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
}

void refuse_query(Call& call, std::string_view name, std::string msg) {
  call.refuse(schemas::invalid({{.loc = {"query", std::string(name)},
                                 .msg = std::move(msg),
                                 .type = "value_error",
                                 .input = {},
                                 .ctx = {}}}));
}

}  // namespace millrace::api
