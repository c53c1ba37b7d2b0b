#include "workers/exec/exec_output.h"

#include <algorithm>

#include "platform/base/utf8.h"

namespace millrace::workers {
namespace {

using schemas::OutputStream;

constexpr std::array kStreams = {OutputStream::kStdout, OutputStream::kStderr};
// If more pieces than this wait, bytes are appended to the stream's last piece even if it is not the newest.
// Otherwise a command that alternates between both streams byte by byte would create an event per byte.
constexpr std::size_t kPiecesInOrder = 64;
constexpr std::size_t kCharacterMax = 4;

}  // namespace

void ExecOutput::add(OutputStream stream, std::string_view bytes) {
  std::unique_lock lock(mutex_);
  const std::string_view kept = count(of(stream), bytes);
  if (kept.empty()) return;
  taken_.wait_until(lock, options_.block_until,
                    [this] { return blocking_stopped_ || buffered_bytes_ <= options_.waiting_max; });
  if (discarded_) return;
  gather(stream, kept);
  const bool wake = !buffered_.empty() && !std::exchange(notified_, true);
  lock.unlock();
  if (wake) wake_();
}

// Counts `bytes` and returns those within `kept_max`.
std::string_view ExecOutput::count(Stream& stream, std::string_view bytes) const {
  const std::uint64_t cap = options_.kept_max;
  const std::uint64_t bytes_left = cap - std::min(stream.written, cap);
  stream.written += bytes.size();
  return bytes.substr(0, std::min<std::uint64_t>(bytes_left, bytes.size()));
}

void ExecOutput::gather(OutputStream stream, std::string_view bytes) {
  std::string joined = std::exchange(of(stream).incomplete, {});
  joined += bytes;
  std::string_view rest = joined;
  const std::size_t incomplete = base::incomplete_utf8(rest);
  of(stream).incomplete = rest.substr(rest.size() - incomplete);
  rest.remove_suffix(incomplete);
  while (!rest.empty()) {
    Piece& piece = piece_for(stream);
    std::string_view part = rest.substr(0, kChunkMax - piece.bytes.size());
    if (part.size() < rest.size()) part.remove_suffix(base::incomplete_utf8(part));
    piece.bytes += part;
    buffered_bytes_ += part.size();
    rest.remove_prefix(part.size());
  }
}

// Returns a piece with space for at least one character.
ExecOutput::Piece& ExecOutput::piece_for(OutputStream stream) {
  const std::size_t pieces_to_check =
      std::min<std::size_t>(buffered_.size(), buffered_.size() < kPiecesInOrder ? 1 : 2);
  for (std::size_t back = 1; back <= pieces_to_check; ++back) {
    Piece& piece = buffered_[buffered_.size() - back];
    if (piece.stream == stream && piece.bytes.size() + kCharacterMax <= kChunkMax) return piece;
  }
  return buffered_.emplace_back(Piece{stream, {}});
}

void ExecOutput::close() {
  const std::lock_guard lock(mutex_);
  for (const OutputStream stream : kStreams) {
    Stream& s = of(stream);
    if (discarded_ || s.incomplete.empty() || s.written > options_.kept_max) continue;
    buffered_bytes_ += s.incomplete.size();
    buffered_.push_back({stream, std::exchange(s.incomplete, {})});
  }
}

void ExecOutput::stop_blocking() {
  const std::lock_guard lock(mutex_);
  blocking_stopped_ = true;
  taken_.notify_all();
}

void ExecOutput::discard() {
  const std::lock_guard lock(mutex_);
  blocking_stopped_ = discarded_ = true;
  buffered_.clear();
  buffered_bytes_ = 0;
  taken_.notify_all();
}

std::vector<storage::JobOutcomes::Event> ExecOutput::take() {
  std::vector<Piece> pieces;
  {
    const std::lock_guard lock(mutex_);
    notified_ = false;
    while (!buffered_.empty() && pieces.size() < kEventsPerTake) {
      buffered_bytes_ -= buffered_.front().bytes.size();
      pieces.push_back(std::move(buffered_.front()));
      buffered_.pop_front();
    }
    taken_.notify_all();
  }
  std::vector<storage::JobOutcomes::Event> events;
  events.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    events.push_back({std::string(schemas::name(piece.stream)), schemas::output_event_data(piece.bytes)});
  }
  return events;
}

schemas::ExecutionResult ExecOutput::sizes() const {
  const std::lock_guard lock(mutex_);
  const auto bytes = [this](OutputStream stream) {
    return streams_[static_cast<std::size_t>(stream)].written;
  };
  schemas::ExecutionResult sizes;
  sizes.stdout_bytes = static_cast<std::int64_t>(bytes(OutputStream::kStdout));
  sizes.stderr_bytes = static_cast<std::int64_t>(bytes(OutputStream::kStderr));
  sizes.stdout_truncated = bytes(OutputStream::kStdout) > options_.kept_max;
  sizes.stderr_truncated = bytes(OutputStream::kStderr) > options_.kept_max;
  return sizes;
}

}  // namespace millrace::workers
