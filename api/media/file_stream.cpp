#include "api/media/file_stream.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <unistd.h>

#include "api/headers.h"
#include "platform/base/log.h"

namespace millrace::api {
namespace {

using Kind = RangeChoice::Kind;

// Parses digits; a number that is too large becomes INT64_MAX.
std::optional<std::int64_t> position(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::int64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failed == std::errc() ? out : INT64_MAX;
}

RangeChoice part(std::int64_t first, std::int64_t count) { return {Kind::kPart, {first, count}}; }
RangeChoice unsatisfied() { return {Kind::kUnsatisfied, {}}; }

// "-N": the last N bytes.
RangeChoice suffix(std::string_view text, std::int64_t size) {
  const auto requested = position(text);
  if (!requested) return {};
  const std::int64_t count = std::min(*requested, size);
  return count > 0 ? part(size - count, count) : unsatisfied();
}

RangeChoice one_range(std::string_view text, std::int64_t size) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  if (dash == 0) return suffix(text.substr(1), size);
  const auto first = position(text.substr(0, dash));
  const std::string_view end = text.substr(dash + 1);
  const auto last = end.empty() ? std::optional(INT64_MAX) : position(end);
  if (!first || !last || *last < *first) return {};
  if (*first >= size) return unsatisfied();
  return part(*first, std::min(*last, size - 1) - *first + 1);
}

}  // namespace

RangeChoice choose_range(const front::Head& head, std::string_view etag, std::int64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const std::string_view range = trimmed(head.header("range").value_or(""));
  if (head.method != "GET" || !range.starts_with(kUnit)) return {};
  const auto condition = head.header("if-range");
  if (condition && trimmed(*condition) != etag) return {};
  return one_range(trimmed(range.substr(kUnit.size())), size);
}

bool is_unchanged(const front::Head& head, std::string_view etag) {
  std::string_view list = head.header("if-none-match").value_or("");
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view each = trimmed(list.substr(0, comma));
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == etag || each == "*") return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr int kPiecesPerTurn = 16;  // then the pool can run other tasks

// Empty: the file cannot be read, or its end is reached.
std::string read_piece(const storage::OpenFile& file, const ByteRange& rest) {
  std::string out(static_cast<std::size_t>(std::min(rest.count, std::int64_t{kPieceBytes})), '\0');
  ssize_t got = 0;
  do {
    got = ::pread(file.fd(), out.data(), out.size(), rest.first);
  } while (got < 0 && errno == EINTR);
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return out;
}

// Reads all of a small part. A shorter result: the file ends early or cannot be read.
std::string read_all(const storage::OpenFile& file, ByteRange rest) {
  std::string out;
  while (rest.count > 0) {
    const std::string piece = read_piece(file, rest);
    if (piece.empty()) break;
    out += piece;
    rest.first += static_cast<std::int64_t>(piece.size());
    rest.count -= static_cast<std::int64_t>(piece.size());
  }
  return out;
}

void send_small(Call& call, const storage::OpenFile& file, const ByteRange& range, front::Reply reply) {
  reply.body = read_all(file, range);
  if (static_cast<std::int64_t>(reply.body.size()) == range.count) return call.reply(std::move(reply));
  base::log_error("file_read_failed", {{"path", call.head().path}});
  call.fail(base::error(base::Code::kInternal, "The bytes of this file cannot be read"));
}

}  // namespace

void FileStream::start(Context& context, CallPtr call, storage::OpenFile file, ByteRange range,
                       front::Reply head) {
  if (range.count <= std::int64_t{kSmallReply}) return send_small(*call, file, range, std::move(head));
  const bool only_head = call->head().method == "HEAD";
  if (!call->start_stream(std::move(head), static_cast<std::uint64_t>(range.count))) return;
  if (only_head) {
    call->responder().end();
    return;
  }
  std::make_shared<FileStream>(context, std::move(call), std::move(file), range)->pump();
}

FileStream::Step FileStream::send_piece() {
  const front::Responder& client = call_->responder();
  const std::string piece = read_piece(file_, rest_);
  if (piece.empty()) {
    base::log_error("file_read_failed", {{"path", call_->head().path}});
    client.abort();
    return Step::kOver;
  }
  if (!client.write(piece)) return Step::kOver;
  rest_.first += static_cast<std::int64_t>(piece.size());
  rest_.count -= static_cast<std::int64_t>(piece.size());
  if (rest_.count == 0) {
    client.end();
    return Step::kOver;
  }
  return client.backlog() > kBacklogPause ? Step::kBacklog : Step::kMore;
}

void FileStream::pump() {
  for (int piece = 0; piece < kPiecesPerTurn; ++piece) {
    const Step step = send_piece();
    if (step == Step::kOver) return;
    if (step == Step::kMore) continue;
    call_->responder().on_drained(kBacklogResume, [self = shared_from_this()] { self->post_pump(); });
    return;
  }
  post_pump();
}

void FileStream::post_pump() {
  const bool posted =
      context_.pool.post_reply(base::Pool::Queue::kLarge, [self = shared_from_this()] { self->pump(); });
  if (!posted) call_->responder().abort();
}

}  // namespace millrace::api
