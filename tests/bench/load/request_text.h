#pragma once
#include <array>
#include <cstdint>
#include <string>

#include <sys/uio.h>

#include "tests/bench/load/client.h"

namespace millrace::bench {

// The bytes of one connection's requests: a head of its own, in which a new Idempotency-Key can be set in
// place, and the body that all share. `load` must outlive it.
class RequestText {
 public:
  RequestText(const Load& load, std::uint64_t seed);
  void next();  // a new key, if keys are wanted
  std::size_t size() const { return head_.size() + body_->size(); }
  // What is left to send after `sent` bytes, for writev; unused parts are empty.
  std::array<iovec, 2> rest(std::size_t sent);

 private:
  std::string head_;
  const std::string* body_;
  std::size_t key_at_ = 0;  // 0: no key
  std::uint64_t random_;
};

}  // namespace millrace::bench
