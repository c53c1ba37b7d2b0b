#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/pool.h"
#include "platform/net/fetch.h"
#include "platform/net/loop.h"
#include "storage/blobs/blobs.h"
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

// One document on its way to its blob. Everything happens on the loop's thread but the writing, which has the
// writer and one piece to itself on the pool while the next piece is collected. `pool` and `blobs`
// must outlive it; when the loop has ended, nothing more happens.
class DocumentDownload : public std::enable_shared_from_this<DocumentDownload> {
 public:
  using Done = std::function<void(base::Result<storage::Staged>)>;

  DocumentDownload(workers::LoopLink link, base::Pool& pool, storage::Blobs& blobs, Done done)
      : link_(std::move(link)), pool_(pool), blobs_(blobs), done_(std::move(done)) {}
  ~DocumentDownload();
  DocumentDownload(const DocumentDownload&) = delete;
  DocumentDownload& operator=(const DocumentDownload&) = delete;

  void begin(std::int64_t expected_bytes) { expected_bytes_ = expected_bytes; }
  bool has_room() const;
  // False: it cannot be stored, the rest is not wanted.
  bool take(std::string_view bytes);
  void ended(base::Status how);
  // Called when there is room again.
  void on_room(std::function<void()> resume) { resume_ = std::move(resume); }

 private:
  void go_on();
  void write();
  void written(base::Status status);
  void finish();
  void fail(base::Error error);
  base::Status append(const std::string& piece);
  base::Result<storage::Staged> stage();

  const workers::LoopLink link_;
  base::Pool& pool_;
  storage::Blobs& blobs_;
  Done done_;
  std::function<void()> resume_;
  std::unique_ptr<storage::BlobWriter> writer_;  // of the pool while `busy_`
  std::string waiting_;
  std::int64_t expected_bytes_ = 0;
  std::optional<base::Error> error_;
  bool busy_ = false, begun_ = false, ended_ = false;
};

}  // namespace millrace::app
