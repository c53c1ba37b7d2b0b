#pragma once
#include <array>
#include <cstdint>
#include <string>

#include <sys/uio.h>

#include "tests/bench/load/client.h"

namespace millrace::bench {

// The bytes of one connection's requests: the connection's own head, in which the Idempotency-Key is replaced
// in place, and a body that all connections share. `load` must outlive it.
class RequestText {
 public:
  RequestText(const Load& load, std::uint64_t seed);
  void next();  // sets a new key if `fresh_keys` is set
  std::size_t size() const { return head_.size() + body_->size(); }
  // The bytes still to send after `sent` bytes, for writev. Unused parts are empty.
  std::array<iovec, 2> rest(std::size_t sent);

 private:
  std::string head_;
  const std::string* body_;
  std::size_t key_at_ = 0;  // 0: no key
  std::uint64_t random_;
};

}  // namespace millrace::bench
