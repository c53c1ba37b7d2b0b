#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/routing/route.h"

namespace millrace::api {

// What the route table says of a method and a path.
struct Match {
  const Route* route = nullptr;  // null: see `allow`
  std::string_view allow;  // not empty while `route` is null: the path is known, the method is not (405)
  std::vector<std::string> params;  // percent-decoded, in the pattern's order
};

// The table, arranged for look-up. Built once; const afterwards and so thread-safe. REQUIRES: the table
// outlives it.
class Router {
 public:
  explicit Router(std::span<const Route> table);
  // `path` as sent. HEAD counts as GET.
  Match match(std::string_view method, std::string_view path) const;

 private:
  struct Path {
    std::string_view pattern;
    std::vector<std::string_view> segments;
    std::vector<const Route*> routes;
    std::string allow;
  };
  void add(const Route& route);
  const Path* find(std::string_view path, std::vector<std::string>& params) const;

  std::vector<Path> paths_;
  std::unordered_map<std::string_view, std::size_t> exact_;
};

// "%2F" → "/"; nullopt: a broken escape.
std::optional<std::string> percent_decoded(std::string_view text);
// "a=1&b=x+y" → pairs, decoded; a broken escape stays as it is.
schemas::QueryPairs query_pairs(std::string_view query);

}  // namespace millrace::api
