#include "app/components/document_download.h"

#include <utility>

namespace millrace::app {

std::function<void()> DocumentFetch::start(const std::string& url, Done done) {
  const auto arrival = std::make_shared<DocumentDownload>(weak_loop_, pool_, blobs_, std::move(done));
  net::FetchHandlers receiver;
  receiver.on_begin = [arrival](std::int64_t bytes) { arrival->begin(bytes); };
  receiver.is_ready = [arrival] { return arrival->has_capacity(); };
  receiver.on_data = [arrival](std::string_view bytes) { return arrival->take(bytes); };
  receiver.on_done = [arrival](base::Status how) { arrival->ended(std::move(how)); };
  const auto running = fetch_.start(url, std::move(receiver));
  weak_loop_.post([arrival, weak = std::weak_ptr(running)] {
    arrival->on_capacity([weak] {
      if (const auto fetch = weak.lock()) net::Fetch::resume(*fetch);
    });
  });
  return [this, running] { fetch_.cancel(running); };
}

namespace {

using Queue = base::Pool::Queue;

base::Error busy() {
  base::Error error = base::error(base::Code::kOverloaded, "the gateway is busy storing documents");
  error.retry_after = std::chrono::seconds(1);
  return error;
}

}  // namespace

// Removes an unfinished file on the pool, so that the loop does not block.
DocumentDownload::~DocumentDownload() {
  if (!writer_) return;
  const std::shared_ptr<storage::BlobWriter> dropped = std::move(writer_);
  static_cast<void>(pool_.post_reply(Queue::kLarge, [dropped] {}));
}

bool DocumentDownload::has_capacity() const { return waiting_.size() < DocumentFetch::kPieceMax || error_; }

bool DocumentDownload::take(std::string_view bytes) {
  if (error_) return false;
  waiting_.append(bytes);
  go_on();
  return true;
}

void DocumentDownload::ended(base::Status how) {
  ended_ = true;
  if (!how && !error_) error_ = how.error();
  go_on();
}

void DocumentDownload::go_on() {
  if (busy_) return;
  if (error_) {
    if (ended_) fail(*std::exchange(error_, std::nullopt));
  } else if (!waiting_.empty()) {
    write();
  } else if (ended_) {
    finish();
  }
}

// The first piece needs a free slot in the pool and may be refused; later pieces are always accepted.
void DocumentDownload::write() {
  auto piece = std::make_shared<std::string>(std::exchange(waiting_, {}));
  auto task = [self = shared_from_this(), piece] {
    self->weak_loop_.post([self, status = self->append(*piece)] { self->written(status); });
  };
  busy_ = true;
  const bool posted = std::exchange(begun_, true) ? pool_.post_reply(Queue::kLarge, std::move(task))
                                                  : pool_.post(Queue::kLarge, std::move(task));
  if (!posted) written(busy());
}

void DocumentDownload::written(base::Status status) {
  busy_ = false;
  if (!status && !error_) error_ = status.error();
  go_on();
  if (!ended_ && resume_) resume_();
}

void DocumentDownload::finish() {
  busy_ = true;
  const bool posted = pool_.post_reply(Queue::kLarge, [self = shared_from_this()] {
    const Done done = std::exchange(self->done_, nullptr);
    done(self->stage());
  });
  if (!posted) fail(busy());
}

void DocumentDownload::fail(base::Error error) {
  const Done done = std::exchange(done_, nullptr);
  if (done) done(std::move(error));
}

base::Status DocumentDownload::append(const std::string& piece) {
  if (!writer_) {
    auto writer = blobs_.begin(expected_bytes_);
    if (!writer) return writer.error();
    writer_ = *std::move(writer);
  }
  return writer_->append(piece);
}

base::Result<storage::Staged> DocumentDownload::stage() {
  if (const base::Status there = append({}); !there) return there.error();
  return writer_->finish();
}

}  // namespace millrace::app
