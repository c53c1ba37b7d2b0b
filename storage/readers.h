#pragma once
#include <functional>

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

}  // namespace millrace::storage
