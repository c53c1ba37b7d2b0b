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

// The route table's match for a method and a path.
struct Match {
  const Route* route = nullptr;  // null: see `allow`
  std::string_view
      allow;  // if `route` is null and this is not empty: the path exists, the method is not allowed (405)
  std::vector<std::string> params;  // percent-decoded, in the pattern's order
};

// An index over the route table. Built once and const afterwards, so it is thread-safe. REQUIRES: the table
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

// The message of a 404 for an unknown path. It contains the path to use instead, if that is known.
std::string no_such_path(const Router& router, std::string_view path);

// "%2F" → "/"; nullopt: an invalid escape.
std::optional<std::string> percent_decoded(std::string_view text);
// "a=1&b=x+y" → decoded pairs; an invalid escape stays unchanged.
schemas::QueryPairs query_pairs(std::string_view query);
// The first pair with an invalid escape, as it was sent. nullopt: there is none.
std::optional<std::string_view> invalid_pair(std::string_view query);

}  // namespace millrace::api
