#pragma once
#include <functional>
#include <memory>
#include <string>

#include "platform/base/pool.h"
#include "platform/net/fetch.h"
#include "storage/blobs.h"

namespace millrace::app {

// A document by URL, fetched under the guard and staged as a blob, so that a retry of its job does not fetch
// again. Thread-safe; `done` once, on the pool or the loop, unless cancelled.
class DocumentFetch {
 public:
  using Done = std::function<void(base::Result<storage::Staged>)>;

  DocumentFetch(net::Fetch& fetch, base::Pool& pool, storage::Blobs& blobs)
      : fetch_(fetch), pool_(pool), blobs_(blobs) {}

  // The returned function ends it without `done` (unless that has begun).
  std::function<void()> start(const std::string& url, Done done);

 private:
  net::Fetch& fetch_;
  base::Pool& pool_;
  storage::Blobs& blobs_;
};

}  // namespace millrace::app
