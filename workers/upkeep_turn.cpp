#include "workers/upkeep_turn.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "platform/base/log.h"

namespace millrace::workers {
namespace {

constexpr off_t kNoteAt = 512;  // behind the signature of who holds the lock

}  // namespace

base::Result<UpkeepTurn> UpkeepTurn::open(const std::string& path, std::chrono::milliseconds patience) {
  auto lock = storage::LockFile::open(path);
  if (!lock) return lock.error();
  base::Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return base::error(base::Code::kInternal, path + ": " + std::strerror(errno));
  return UpkeepTurn(std::move(*lock), std::move(file), patience);
}

UpkeepTurn::UpkeepTurn(storage::LockFile lock, base::Fd file, std::chrono::milliseconds patience)
    : lock_(std::move(lock)), file_(std::move(file)), patience_(patience) {}

bool UpkeepTurn::is_ours(base::BootTime now) {
  if (holds_) return true;
  if (!lock_.try_lock(storage::LockFile::Mode::kExclusive)) return stand_in(now);
  holds_ = true;
  lock_.sign();
  note_next(now);
  return true;
}

void UpkeepTurn::give_up() {
  lock_.unlock();
  holds_ = false;
}

// What we noted ourselves is no sign of whom we stand in for.
bool UpkeepTurn::stand_in(base::BootTime now) {
  const auto next = noted();
  if (stood_in_ && next == stood_in_) return true;
  stood_in_.reset();
  if (!next || now < *next + patience_) return false;
  base::log_warn("upkeep_stands_still", {{"held_by", lock_.signed_by()}, {"late_ms", (now - *next).count()}});
  stood_in_ = next;
  note_next(now);
  return true;
}

// Who stands in notes nothing over another's note.
void UpkeepTurn::note_next(base::BootTime next) {
  if (!holds_ && noted() != stood_in_) return stood_in_.reset();
  if (!holds_) stood_in_ = next;
  const std::int64_t ms = next.time_since_epoch().count();
  if (::pwrite(file_.get(), &ms, sizeof ms, kNoteAt) != sizeof ms) {
    base::log_warn("upkeep_not_noted", {{"why", std::strerror(errno)}});
  }
}

std::optional<base::BootTime> UpkeepTurn::noted() const {
  std::int64_t ms = 0;
  if (::pread(file_.get(), &ms, sizeof ms, kNoteAt) != sizeof ms) return std::nullopt;
  return base::BootTime(std::chrono::milliseconds(ms));
}

}  // namespace millrace::workers
