#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/call.h"
#include "api/headers.h"
#include "schemas/field.h"

// Parses query strings by a table of fields, and defines the fields that all lists share
// (docs/design/http-contract.md §0, Paging).
namespace millrace::api {

// The parameters of every list; the query of a list derives from it.
struct PageQuery {
  int limit = kPageDefault;
  std::string cursor;  // empty: the first page
};

// The fields `limit` and `cursor` in the table that fills a `Query`.
template <class Query>
constexpr schemas::Field limit_field() {
  return {.name = "limit",
          .type = schemas::FieldType::kInteger,
          .text = "How many at most",
          .min = 1,
          .max = kPageMax,
          .default_json = "50",
          .store = &schemas::store_in<Query, &Query::limit>};
}
template <class Query>
constexpr schemas::Field cursor_field() {
  return {.name = "cursor",
          .text = "`next_cursor` of the page before",
          .max = 255,
          .store = &schemas::store_in<Query, &Query::cursor>};
}

// The table of a list without further parameters.
inline constexpr std::array kPageFields{limit_field<PageQuery>(), cursor_field<PageQuery>()};

// Fills `*query`, the struct of `table`. False: 422 was sent.
bool read_query(Call& call, std::span<const schemas::Field> table, void* query);
// True if the parameter was sent, even if it is empty.
bool was_sent(const Call& call, std::string_view name);
// Sends 422 about one parameter.
void refuse_query(Call& call, std::string_view name, std::string msg);

// Parses the start of a page with one of the readers of headers.h. An empty cursor leaves `begin` unchanged.
// False: 422 was sent.
template <class Begin>
bool read_cursor(Call& call, std::string_view cursor, std::optional<Begin> (*read)(std::string_view),
                 std::optional<Begin>& begin) {
  if (cursor.empty()) return true;
  begin = read(cursor);
  if (!begin) refuse_query(call, "cursor", "Input should be a `next_cursor` of this list");
  return begin.has_value();
}

}  // namespace millrace::api
