#include "api/front/output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

#include "api/front/connection.h"

namespace millrace::front {
namespace {

thread_local Cork* current_cork = nullptr;

}  // namespace

Cork::Cork() { current_cork = this; }

Cork::~Cork() {
  current_cork = nullptr;
  for (const auto& connection : held_) connection->flush_held();
}

Cork* Cork::current() { return current_cork; }

void Cork::defer(std::shared_ptr<Connection> connection) { held_.push_back(std::move(connection)); }

namespace {

constexpr std::size_t kPiecesPerCall = 16;
constexpr std::size_t kBlockBytes = 64 * 1024;  // small buffered pieces are joined up to this size

struct Sent {
  std::size_t bytes = 0;
  bool broken = false;
};

Sent send_once(int fd, std::span<const std::string_view> pieces) {
  std::array<iovec, kPiecesPerCall> parts{};
  std::size_t count = 0;
  for (std::string_view piece : pieces.first(std::min(pieces.size(), kPiecesPerCall))) {
    parts[count++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  for (;;) {
    const ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return {static_cast<std::size_t>(sent), false};
    if (errno == EINTR) continue;
    return {0, errno != EAGAIN && errno != EWOULDBLOCK};
  }
}

}  // namespace

Output::State Output::send(int fd, std::string head, std::string body) {
  std::size_t sent = 0;
  if (empty()) {
    const std::array<std::string_view, 2> pieces = {head, body};
    const Sent result = send_once(fd, pieces);
    if (result.broken) return State::kBroken;
    sent = result.bytes;
    if (sent == head.size() + body.size()) return State::kEmpty;
  }
  defer(std::move(head), std::move(body));
  drop_sent(sent);
  return state();
}

void Output::defer(std::string head, std::string body) {
  keep(std::move(head));
  keep(std::move(body));
}

Output::State Output::send(int fd, std::span<const std::string_view> pieces) {
  std::size_t sent = 0;
  if (empty()) {
    const Sent result = send_once(fd, pieces);
    if (result.broken) return State::kBroken;
    sent = result.bytes;
  }
  for (std::string_view piece : pieces) {
    const std::size_t skipped = std::min(sent, piece.size());
    sent -= skipped;
    keep_copy(piece.substr(skipped));
  }
  return state();
}

Output::State Output::flush(int fd) {
  while (!empty()) {
    std::array<std::string_view, kPiecesPerCall> pieces;
    const std::size_t count = std::min(kPiecesPerCall, blocks_.size() - first_);
    for (std::size_t i = 0; i < count; ++i) pieces[i] = blocks_[first_ + i];
    pieces[0].remove_prefix(offset_);
    const Sent result = send_once(fd, std::span(pieces).first(count));
    if (result.broken) return State::kBroken;
    if (result.bytes == 0) return State::kBlocked;
    drop_sent(result.bytes);
  }
  return State::kEmpty;
}

void Output::keep(std::string block) {
  if (block.empty()) return;
  bytes_ += block.size();
  blocks_.push_back(std::move(block));
}

void Output::keep_copy(std::string_view piece) {
  if (piece.empty()) return;
  if (first_ == blocks_.size() || blocks_.back().size() + piece.size() > kBlockBytes) blocks_.emplace_back();
  blocks_.back().append(piece);
  bytes_ += piece.size();
}

void Output::drop_sent(std::size_t count) {
  bytes_ -= count;
  while (count > 0) {
    std::string& block = blocks_[first_];
    const std::size_t left = block.size() - offset_;
    if (count < left) {
      offset_ += count;
      break;
    }
    count -= left;
    offset_ = 0;
    std::string().swap(block);
    ++first_;
  }
  if (first_ * 2 < blocks_.size()) return;
  blocks_.erase(blocks_.begin(), std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(first_)));
  first_ = 0;
}

void Output::clear() {
  blocks_.clear();
  first_ = offset_ = bytes_ = 0;
}

}  // namespace millrace::front
