#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::bench {

// One reply with a Content-Length, read in pieces.
class ReplyReader {
 public:
  enum class State { kMore, kDone, kBroken };
  // Takes what came. kDone: `status` and `body` are set until the next `clear`; kBroken: no such reply.
  State take(std::string_view bytes);
  int status() const { return status_; }
  std::string_view body() const { return std::string_view(seen_).substr(head_size_); }
  void clear();

 private:
  bool read_head();

  std::string seen_;
  std::size_t head_size_ = 0;  // 0: not complete yet
  std::size_t body_size_ = 0;
  int status_ = 0;
};

}  // namespace millrace::bench
