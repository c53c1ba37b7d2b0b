#include "workers/exec_artifacts.h"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "schemas/artifact.h"

namespace millrace::workers {
namespace {

constexpr std::size_t kPiece = 64 * 1024;

ssize_t read_piece(int fd, std::array<char, kPiece>& piece) {
  ssize_t got = 0;
  do {
    got = ::read(fd, piece.data(), piece.size());
  } while (got < 0 && errno == EINTR);
  return got;
}

// Told to end: an error that nobody reads.
base::Result<storage::Staged> copy(storage::Blobs& blobs, const machines::ArtifactFile& file,
                                   const machines::StopSwitch& stop) {
  auto writer = blobs.begin(file.bytes);
  if (!writer) return writer.error();
  std::array<char, kPiece> piece;
  for (ssize_t got = 0; (got = read_piece(file.content.get(), piece)) != 0;) {
    if (got < 0 || stop.killed()) return base::error(base::Code::kHostAgentFailed, "it could not be read");
    const auto bytes = static_cast<std::size_t>(got);
    if ((*writer)->bytes() + got > schemas::kArtifactBytesMax) {
      return base::error(base::Code::kTooLarge, "it grew above 100 MiB");
    }
    if (auto written = (*writer)->append({piece.data(), bytes}); !written) return written.error();
  }
  return (*writer)->finish();
}

// The files that were left out, and why the first of them was.
class LeftOut {
 public:
  void add(const std::string& why) {
    if (count_++ == 0) why_ = why;
  }
  std::string note(const std::string& before) const {
    if (count_ == 0) return before;
    const std::string files = count_ == 1 ? "1 file was" : std::to_string(count_) + " files were";
    return (before.empty() ? "" : before + "; ") + files + " not kept: " + why_;
  }

 private:
  int count_ = 0;
  std::string why_;
};

}  // namespace

KeptArtifacts keep_artifacts(storage::Store& store, machines::CommandEnd& end,
                             const machines::StopSwitch& stop) {
  KeptArtifacts kept;
  LeftOut left_out;
  for (machines::ArtifactFile& file : std::exchange(end.artifacts, {})) {
    if (stop.killed()) break;
    if (kept.files.size() == schemas::kArtifactsMax) {
      left_out.add("an execution keeps " + std::to_string(schemas::kArtifactsMax));
      continue;
    }
    auto staged = copy(store.blobs(), file, stop);
    if (!staged) {
      left_out.add(staged.error().message);
      continue;
    }
    kept.files.push_back({.id = base::Uuid::make(store.clock().wall()),
                          .name = file.name,
                          .mime_type = std::string(schemas::mime_type_of(file.name)),
                          .content = *std::move(staged)});
  }
  kept.note = left_out.note(end.artifacts_note);
  return kept;
}

}  // namespace millrace::workers
