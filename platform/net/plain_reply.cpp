#include <algorithm>
#include <system_error>
#include <utility>

#include "platform/net/http_words.h"
#include "platform/net/plain_transfer.h"

// What comes back of a request on a connection of ours: the head, the body, its end.
namespace millrace::net {
namespace {

constexpr std::string_view kHeadBegin = "HTTP/1.";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

// A line of the head that ends otherwise than by CR LF; the first `seen` bytes were looked at before.
bool has_bare_line_end(std::string_view head, std::size_t seen) {
  for (std::size_t at = head.find('\n', seen); at != std::string_view::npos; at = head.find('\n', at + 1)) {
    if (at == 0 || head[at - 1] != '\r') return true;
  }
  return false;
}

}  // namespace

void PlainTransfer::received(std::string_view bytes) {
  const auto self = shared_from_this();
  if (over_) return;
  if (request_.idle_timeout.count() > 0 || request_.stall_timeout.count() > 0) heard_ = Clock::now();
  any_reply_ = true;
  hear(bytes);
  if (!over_) watch();
}

void PlainTransfer::hear(std::string_view bytes) {
  while (!head_read_) {
    if (!take_head(bytes)) return;
  }
  take_body(bytes);
}

// One head; false: it is not whole yet, or broken.
bool PlainTransfer::take_head(std::string_view& bytes) {
  const std::size_t before = cut_head_.size();
  if (before > 0) cut_head_.append(bytes.substr(0, kReplyHeadBytesMax + 1 - before));
  const std::string_view text = before > 0 ? std::string_view(cut_head_) : bytes;
  const std::size_t end = text.find(kHeadEnd, before - std::min(before, kHeadEnd.size()));
  if (!text.starts_with(kHeadBegin.substr(0, text.size()))) {
    fail(request_failed("what came is no HTTP/1 reply"));
    return false;
  }
  if (end > kReplyHeadBytesMax && text.size() > kReplyHeadBytesMax) {
    fail(request_failed("the reply's head has more than " + std::to_string(kReplyHeadBytesMax) + " bytes"));
    return false;
  }
  if (has_bare_line_end(text.substr(0, end), before)) {
    fail(request_failed("a line of the reply's head does not end by CR LF"));
    return false;
  }
  if (end == std::string_view::npos) {
    if (before == 0) cut_head_ = bytes;
    return false;
  }
  const auto framing =
      read_reply_head(text.substr(0, end + kHeadEnd.size()), request_.method == "HEAD", reply_);
  bytes.remove_prefix(end + kHeadEnd.size() - before);
  cut_head_.clear();
  if (!framing) {
    fail(framing.error());
    return false;
  }
  if (framing->interim) return !bytes.empty();
  head_read_ = true;
  keeps_ = framing->keeps;
  frames_ = BodyFrames(*framing);
  return begin_body();
}

bool PlainTransfer::begin_body() {
  const std::string_view coding = reply_.header("content-encoding");
  if (request_.identity_encoding || coding.empty() || is_same_word(coding, "identity")) return true;
  unpacker_ = Unpacker::of(coding);
  if (!unpacker_) fail(request_failed("the reply is packed as nobody asked for"));
  return unpacker_ != nullptr;
}

void PlainTransfer::take_body(std::string_view bytes) {
  std::string_view piece;
  for (;;) {
    switch (frames_.next(bytes, piece)) {
      case BodyFrames::State::kMore:
        return;
      case BodyFrames::State::kDone:
        return whole(bytes.empty());
      case BodyFrames::State::kBroken:
        return fail(request_failed("the reply's chunks are broken"));
      case BodyFrames::State::kPiece:
        tell_head();
        held_ = !over_ && handlers_.is_ready && !call([&] { return handlers_.is_ready(); });
        if (held_) {
          waiting_body_ = piece.size();
          waiting_.assign(piece.data(), piece.size() + bytes.size());
          return connection_->hold();
        }
        if (!hand_over(piece)) return;
    }
  }
}

void PlainTransfer::hear_again() {
  const auto self = shared_from_this();
  if (over_ || !held_) return;
  heard_ = Clock::now();
  held_ = !call([&] { return handlers_.is_ready(); });
  if (held_ || over_) return;
  const std::string waiting = std::exchange(waiting_, {});
  const std::string_view bytes = waiting;
  if (!hand_over(bytes.substr(0, waiting_body_))) return;
  take_body(bytes.substr(waiting_body_));
  if (over_ || held_) return;
  connection_->listen(request_.read_buffer_bytes > 0 ? request_.read_buffer_bytes : SIZE_MAX);
  watch();
}

// False: the transfer is over.
bool PlainTransfer::hand_over(std::string_view piece) {
  if (!unpacker_) return tell(piece);
  const auto state = unpacker_->feed(piece, [this](std::string_view bytes) { return tell(bytes); });
  if (state == Unpacker::State::kBroken) fail(request_failed("the reply cannot be unpacked"));
  return !over_;
}

bool PlainTransfer::tell(std::string_view bytes) {
  if (over_) return false;
  received_ += bytes.size();
  if (received_ > request_.body_bytes_max) return fail(reply_too_large(request_.body_bytes_max)), false;
  if (!handlers_.on_data) return reply_.body.append(bytes), true;
  const bool goes_on = call([&] { return handlers_.on_data(bytes); });
  if (!goes_on && !over_) finish(std::move(reply_));
  return goes_on && !over_;
}

// From here on nothing is sent again, so that what was sent need not be kept for as long as the reply lasts.
void PlainTransfer::tell_head() {
  if (over_ || std::exchange(head_told_, true)) return;
  std::string().swap(cut_head_);
  decltype(request_.headers)().swap(request_.headers);
  url_ = {};
  std::string().swap(request_.url);
  if (all_sent_) {
    std::string().swap(head_);
    std::string().swap(request_.body);
  }
  if (request_.read_buffer_bytes > 0) reply_.headers.shrink_to_fit();  // it may last
  if (handlers_.on_head) call([&] { handlers_.on_head(reply_); });
}

void PlainTransfer::ended(int error) {
  const auto self = shared_from_this();
  if (over_ || again()) return;
  if (head_read_ && error == 0 && frames_.may_end_here()) return whole(false);
  if (error != 0) return fail(request_failed(std::generic_category().message(error)));
  fail(request_failed(any_reply_ ? "the connection was closed before the reply was whole"
                                 : "the connection was closed without a reply"));
}

void PlainTransfer::whole(bool nothing_left) {
  if (over_) return;
  if (unpacker_ && unpacker_->has_begun() && !unpacker_->is_whole())
    return fail(request_failed("the packed reply was cut short"));
  let_go(keeps_ && all_sent_ && nothing_left);
  finish(std::move(reply_));
}

}  // namespace millrace::net
