#include "storage/postgres/translate.h"

#include <array>
#include <cctype>
#include <cstddef>

namespace millrace::storage {
namespace {

struct Replacement {
  std::string_view from, to;
};

constexpr std::array kReplacements = {
    Replacement{" CROSS JOIN ", " JOIN "},
    Replacement{" OR ROLLBACK ", " "},
};
constexpr std::string_view kIndexedBy = " INDEXED BY ";

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// How much of `rest` is dropped because it names an index; 0: nothing.
std::size_t index_hint(std::string_view rest) {
  if (!rest.starts_with(kIndexedBy)) return 0;
  std::size_t end = kIndexedBy.size();
  while (end < rest.size() && is_name_character(rest[end])) ++end;
  return end;
}

}  // namespace

std::string postgres_sql(std::string_view sql) {
  std::string out;
  out.reserve(sql.size());
  bool quoted = false;
  int parameters = 0;
  for (std::size_t at = 0; at < sql.size();) {
    const std::string_view rest = sql.substr(at);
    if (sql[at] == '\'') quoted = !quoted;
    if (!quoted) {
      if (const std::size_t hint = index_hint(rest); hint > 0) {
        at += hint;
        continue;
      }
      bool is_replaced = false;
      for (const Replacement& each : kReplacements) {
        if (!rest.starts_with(each.from)) continue;
        out += each.to.substr(0, each.to.size() - 1);
        at += each.from.size() - 1;  // the last blank may begin the next phrase
        is_replaced = true;
        break;
      }
      if (is_replaced) continue;
    }
    if (!quoted && sql[at] == '?') {
      out += '$';
      const bool is_numbered = rest.size() > 1 && std::isdigit(static_cast<unsigned char>(rest[1])) != 0;
      if (!is_numbered) out += std::to_string(++parameters);
    } else {
      out += sql[at];
    }
    ++at;
  }
  return out;
}

}  // namespace millrace::storage
