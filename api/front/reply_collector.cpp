#include "api/front/reply_collector.h"

#include <utility>

namespace millrace::front {

void ReplyCollector::complete(std::unique_lock<std::mutex>& lock, std::optional<Reply> reply) {
  const Done done = std::exchange(done_, nullptr);
  lock.unlock();
  if (done) done(std::move(reply));
}

bool ReplyCollector::append(std::string_view bytes) {
  if (!stream_ || stream_->body.size() + bytes.size() > bytes_max_) return false;
  stream_->body += bytes;
  return true;
}

bool ReplyCollector::send(Reply reply) {
  std::unique_lock lock(mutex_);
  if (!done_) return false;
  const bool fits = reply.body.size() <= bytes_max_;
  complete(lock, fits ? std::optional(std::move(reply)) : std::nullopt);
  return true;
}

bool ReplyCollector::start_stream(Reply head, std::string_view first) {
  const std::lock_guard lock(mutex_);
  if (!done_ || stream_) return false;
  stream_ = std::move(head);
  stream_->body = first;
  return true;
}

bool ReplyCollector::write(std::string_view bytes) {
  std::unique_lock lock(mutex_);
  if (!done_) return false;
  if (append(bytes)) return true;
  complete(lock, std::nullopt);
  return false;
}

bool ReplyCollector::end(std::string_view last) {
  std::unique_lock lock(mutex_);
  if (!done_) return false;
  const bool fits = append(last);
  complete(lock, fits ? std::move(stream_) : std::nullopt);
  return fits;
}

bool ReplyCollector::abort() {
  std::unique_lock lock(mutex_);
  if (!done_) return false;
  complete(lock, std::nullopt);
  return true;
}

bool ReplyCollector::alive() const {
  const std::lock_guard lock(mutex_);
  return done_ != nullptr;
}

}  // namespace millrace::front
