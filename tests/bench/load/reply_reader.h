#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::bench {

// One reply with a Content-Length, read in pieces.
class ReplyReader {
 public:
  enum class State { kMore, kDone, kBroken };
  // Parses received bytes. kDone: `status` and `body` are valid until the next `clear`. kBroken: not a reply
  // with a Content-Length.
  State take(std::string_view bytes);
  int status() const { return status_; }
  std::string_view body() const { return std::string_view(seen_).substr(head_size_); }
  void clear();

 private:
  bool read_head();

  std::string seen_;
  std::size_t head_size_ = 0;  // 0: the head is incomplete
  std::size_t body_size_ = 0;
  int status_ = 0;
};

}  // namespace millrace::bench
