#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "api/front/exchange.h"

namespace millrace::front {

// Receives the reply to a request that the gateway makes itself, whole or as a stream. Thread-safe.
class ReplyCollector {
 public:
  // nullopt: the stream was cut off, or has more than `bytes_max` bytes.
  using Done = std::function<void(std::optional<Reply> reply)>;

  // `done` runs once, on the thread that completes the reply.
  ReplyCollector(std::size_t bytes_max, Done done) : bytes_max_(bytes_max), done_(std::move(done)) {}

  // As the methods of Responder.
  bool send(Reply reply);
  bool start_stream(Reply head, std::string_view first);
  bool write(std::string_view bytes);
  bool end(std::string_view last);
  bool abort();
  bool alive() const;

 private:
  bool append(std::string_view bytes);  // `mutex_` is held
  void complete(std::unique_lock<std::mutex>& lock, std::optional<Reply> reply);

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;  // guards all below
  Done done_;                 // empty: it has run
  std::optional<Reply> stream_;
};

}  // namespace millrace::front
