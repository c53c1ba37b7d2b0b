#pragma once
#include <functional>
#include <optional>
#include <utility>

#include "platform/base/result.h"

namespace millrace::storage {

class Db;

// A pool of `query_only` connections. `read` runs `f` on the calling thread with one connection inside one
// read transaction. It waits for a free connection for at most a second (then kOverloaded). `f` returns
// values, never a cursor, and must end within a second. Thread-safe. Blocks: for pool threads, slot threads
// and tests only.
class Readers {
 public:
  virtual ~Readers() = default;
  virtual base::Status read(const std::function<void(Db&)>& f) = 0;
};

// The same for an `f` that returns a value; returns that value.
template <class F>
auto read(Readers& readers, F f) -> base::Result<decltype(f(std::declval<Db&>()))> {
  std::optional<decltype(f(std::declval<Db&>()))> value;
  auto status = readers.read([&](Db& db) { value.emplace(f(db)); });
  if (!status) return status.error();
  return std::move(*value);
}

}  // namespace millrace::storage
