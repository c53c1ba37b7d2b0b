#include "app/components/disk_notes.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace::app {

// One write of a machine is on its way at a time, so that an older note never replaces a newer one.
struct DiskNotes::State : std::enable_shared_from_this<State> {
  struct Note {
    bool is_writable = false;
    bool is_new = true;    // not sent yet
    bool is_sent = false;  // its write, or that of an older note, has not ended
  };

  State(net::Loop& l, std::chrono::milliseconds p, Write w) : loop(l), pause(p), write(std::move(w)) {}
  void note(const base::Uuid& machine, bool is_writable);
  void send(const base::Uuid& machine);
  void end(const base::Uuid& machine, bool is_written);
  void wait();
  void send_all();

  net::Loop& loop;
  const std::chrono::milliseconds pause;
  const Write write;
  std::mutex mutex;
  bool is_closed = false;
  std::map<base::Uuid, Note> unwritten;
  bool has_timer = false;
  net::Loop::Timer timer;
};

void DiskNotes::State::note(const base::Uuid& machine, bool is_writable) {
  {
    const std::lock_guard lock(mutex);
    Note& note = unwritten[machine];
    note.is_writable = is_writable;
    note.is_new = true;
  }
  send(machine);
}

void DiskNotes::State::send(const base::Uuid& machine) {
  bool is_writable = false;
  {
    const std::lock_guard lock(mutex);
    const auto found = unwritten.find(machine);
    if (is_closed || found == unwritten.end() || found->second.is_sent) return;
    found->second.is_new = false;
    found->second.is_sent = true;
    is_writable = found->second.is_writable;
  }
  write(machine, is_writable, [weak = weak_from_this(), machine](bool is_written) {
    if (const auto state = weak.lock()) state->end(machine, is_written);
  });
}

void DiskNotes::State::end(const base::Uuid& machine, bool is_written) {
  {
    const std::lock_guard lock(mutex);
    const auto found = unwritten.find(machine);
    if (found == unwritten.end()) return;
    found->second.is_sent = false;
    if (!is_written) return wait();
    if (!found->second.is_new) {
      unwritten.erase(found);
      return;
    }
  }
  send(machine);
}

// REQUIRES: `mutex` is held.
void DiskNotes::State::wait() {
  if (is_closed || std::exchange(has_timer, true)) return;
  timer = loop.after(pause, [weak = weak_from_this()] {
    if (const auto state = weak.lock()) state->send_all();
  });
}

void DiskNotes::State::send_all() {
  std::vector<base::Uuid> machines;
  {
    const std::lock_guard lock(mutex);
    has_timer = false;
    for (const auto& [machine, note] : unwritten) machines.push_back(machine);
  }
  for (const base::Uuid& machine : machines) send(machine);
}

DiskNotes::DiskNotes(net::Loop& loop, std::chrono::milliseconds pause, Write write)
    : state_(std::make_shared<State>(loop, pause, std::move(write))) {}

DiskNotes::~DiskNotes() {
  const std::lock_guard lock(state_->mutex);
  state_->is_closed = true;
  state_->timer.cancel();
}

void DiskNotes::note(const base::Uuid& machine, bool is_writable) { state_->note(machine, is_writable); }

}  // namespace millrace::app
