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
#include "workers/weak_loop.h"

namespace millrace::app {

// Downloads a document by URL, with the checks against requests to private addresses, and writes it into a
// blob while it arrives, so that a retry of its job does not download it again. At most two pieces of about
// kPieceMax each are in memory; reading pauses while the disk is slower than the sender. `loop` is the loop
// of `fetch`. Thread-safe. `done` is called once, on the pool or the loop, unless the download is cancelled.
class DocumentFetch {
 public:
  static constexpr std::size_t kPieceMax = std::size_t{1} << 20;
  using Done = std::function<void(base::Result<storage::Staged>)>;

  DocumentFetch(net::Fetch& fetch, net::Loop& loop, base::Pool& pool, storage::Blobs& blobs)
      : fetch_(fetch), weak_loop_(loop), pool_(pool), blobs_(blobs) {}
  ~DocumentFetch() { weak_loop_.close(); }
  DocumentFetch(const DocumentFetch&) = delete;
  DocumentFetch& operator=(const DocumentFetch&) = delete;

  // Starts a download. The returned function cancels it without a call of `done` (unless that call has
  // begun).
  std::function<void()> start(const std::string& url, Done done);

 private:
  net::Fetch& fetch_;
  const workers::WeakLoop weak_loop_;  // pieces may still be being written when this object is destroyed
  base::Pool& pool_;
  storage::Blobs& blobs_;
};

// One download. All its state is used on the loop's thread, except that the pool writes one piece with
// `writer_` while the next one is collected. `pool` and `blobs` must outlive it. After the loop has ended,
// nothing more happens.
class DocumentDownload : public std::enable_shared_from_this<DocumentDownload> {
 public:
  using Done = std::function<void(base::Result<storage::Staged>)>;

  DocumentDownload(workers::WeakLoop weak_loop, base::Pool& pool, storage::Blobs& blobs, Done done)
      : weak_loop_(std::move(weak_loop)), pool_(pool), blobs_(blobs), done_(std::move(done)) {}
  ~DocumentDownload();
  DocumentDownload(const DocumentDownload&) = delete;
  DocumentDownload& operator=(const DocumentDownload&) = delete;

  void begin(std::int64_t expected_bytes) { expected_bytes_ = expected_bytes; }
  bool has_capacity() const;
  // False: the document cannot be stored; stop the download.
  bool take(std::string_view bytes);
  void ended(base::Status how);
  // `resume` is called when more bytes can be taken.
  void on_capacity(std::function<void()> resume) { resume_ = std::move(resume); }

 private:
  void go_on();
  void write();
  void written(base::Status status);
  void finish();
  void fail(base::Error error);
  base::Status append(const std::string& piece);
  base::Result<storage::Staged> stage();

  const workers::WeakLoop weak_loop_;
  base::Pool& pool_;
  storage::Blobs& blobs_;
  Done done_;
  std::function<void()> resume_;
  std::unique_ptr<storage::BlobWriter> writer_;  // used by the pool while `busy_`
  std::string waiting_;
  std::int64_t expected_bytes_ = 0;
  std::optional<base::Error> error_;
  bool busy_ = false, begun_ = false, ended_ = false;
};

}  // namespace millrace::app
