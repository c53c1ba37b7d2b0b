#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/pool.h"
#include "storage/blobs.h"
#include "workers/loop_link.h"

namespace millrace::app {

// One document on its way to its blob. Everything happens on the loop's thread but the writing, which has the
// writer and one piece to itself on the pool while the next piece is collected. `pool` and `blobs`
// must outlive it; when the loop has ended, nothing more happens.
class Arrival : public std::enable_shared_from_this<Arrival> {
 public:
  using Done = std::function<void(base::Result<storage::Staged>)>;

  Arrival(workers::LoopLink link, base::Pool& pool, storage::Blobs& blobs, Done done)
      : link_(std::move(link)), pool_(pool), blobs_(blobs), done_(std::move(done)) {}
  ~Arrival();
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;

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
