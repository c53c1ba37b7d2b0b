#pragma once
#include <functional>
#include <memory>
#include <string>

#include "platform/base/pool.h"
#include "platform/net/fetch.h"
#include "platform/net/loop.h"
#include "storage/blobs.h"
#include "workers/loop_link.h"

namespace millrace::app {

// A document by URL, fetched under the guard and written into a blob while it arrives, so that a retry of its
// job does not fetch again. At most two pieces of about kPieceMax each are in memory; while the disk is
// slower than the other side, that one waits. `loop` is the one that `fetch` works on. Thread-safe; `done`
// once, on the pool or the loop, unless cancelled.
class DocumentFetch {
 public:
  static constexpr std::size_t kPieceMax = std::size_t{1} << 20;
  using Done = std::function<void(base::Result<storage::Staged>)>;

  DocumentFetch(net::Fetch& fetch, net::Loop& loop, base::Pool& pool, storage::Blobs& blobs)
      : fetch_(fetch), link_(loop), pool_(pool), blobs_(blobs) {}
  ~DocumentFetch() { link_.close(); }
  DocumentFetch(const DocumentFetch&) = delete;
  DocumentFetch& operator=(const DocumentFetch&) = delete;

  // The returned function ends it without `done` (unless that has begun).
  std::function<void()> start(const std::string& url, Done done);

 private:
  net::Fetch& fetch_;
  const workers::LoopLink link_;  // pieces may still be on their way to disk when this goes
  base::Pool& pool_;
  storage::Blobs& blobs_;
};

}  // namespace millrace::app
