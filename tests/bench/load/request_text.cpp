#include "tests/bench/load/request_text.h"

#include <algorithm>

namespace millrace::bench {
namespace {

constexpr std::string_view kKeyHeader = "Idempotency-Key: ";
constexpr std::size_t kKeySize = 32;

// splitmix64: the keys must differ, but need not be secret.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t value = state;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

RequestText::RequestText(const Load& load, std::uint64_t seed) : body_(&load.body), random_(seed) {
  head_ = load.method + " " + load.path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(load.port) +
          "\r\nConnection: keep-alive\r\n";
  for (const std::string& header : load.headers) head_ += header + "\r\n";
  if (load.fresh_keys) {
    key_at_ = head_.size() + kKeyHeader.size();
    head_ += std::string(kKeyHeader) + std::string(kKeySize, '0') + "\r\n";
  }
  if (load.method != "GET") head_ += "Content-Length: " + std::to_string(body_->size()) + "\r\n";
  head_ += "\r\n";
}

void RequestText::next() {
  if (key_at_ == 0) return;
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t bits = next_random(random_);
    for (std::size_t i = 0; i < kKeySize / 2; ++i, bits >>= 4)
      head_[key_at_ + half * kKeySize / 2 + i] = kDigits[bits & 15];
  }
}

std::array<iovec, 2> RequestText::rest(std::size_t sent) {
  const std::size_t of_head = std::min(sent, head_.size());
  const std::size_t of_body = sent - of_head;
  // sendmsg only reads, but iovec has no const.
  return {iovec{head_.data() + of_head, head_.size() - of_head},
          iovec{const_cast<char*>(body_->data()) + of_body, body_->size() - of_body}};
}

}  // namespace millrace::bench
