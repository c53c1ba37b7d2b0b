#pragma once
#include <functional>
#include <optional>
#include <utility>

#include "platform/base/result.h"

namespace millrace::storage {

class Db;

// A few `query_only` connections. `read` runs `f` on the calling thread with one of them inside one read
// transaction and waits for a free one at most a second (then kOverloaded). `f` returns values; no cursor
// leaves it; it ends within a second. Thread-safe; blocks: pool threads, slot threads and tests only.
class Readers {
 public:
  virtual ~Readers() = default;
  virtual base::Status read(const std::function<void(Db&)>& f) = 0;
};

// The same for an `f` that returns something: what it returns comes back.
template <class F>
auto read(Readers& readers, F f) -> base::Result<decltype(f(std::declval<Db&>()))> {
  std::optional<decltype(f(std::declval<Db&>()))> value;
  auto status = readers.read([&](Db& db) { value.emplace(f(db)); });
  if (!status) return status.error();
  return std::move(*value);
}

}  // namespace millrace::storage
