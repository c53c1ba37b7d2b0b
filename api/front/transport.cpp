#include "api/front/transport.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <pistache/peer.h>
#include <pistache/tcp.h>
#include <sys/socket.h>

#include "platform/base/log.h"

namespace millrace::front {
namespace {

using Entry = Pistache::Aio::FdSet::Entry;
using Pistache::Polling::Event;
using Pistache::Polling::Mode;
using Pistache::Polling::NotifyOn;

Event event_of(const Entry& entry) {
  Event event(entry.getTag());
  if (entry.isReadable()) event.flags.setFlag(NotifyOn::Read);
  if (entry.isWritable()) event.flags.setFlag(NotifyOn::Write);
  if (entry.isHangup()) event.flags.setFlag(NotifyOn::Hangup);
  return event;
}

// Whether the client has ended its side. Pistache's Entry has the flag but does not expose it, so it is cast
// to Event.
bool has_ended(const Entry& entry) {
  using AsEvent = const Event&;
  const Event& event = AsEvent(entry);
  return event.flags.hasFlag(NotifyOn::Shutdown) || event.flags.hasFlag(NotifyOn::Hangup);
}

Pistache::Polling::Tag tag_of(int fd) { return Pistache::Polling::Tag(static_cast<std::uint64_t>(fd)); }
int fd_of(const Entry& entry) { return static_cast<int>(entry.getTag().value()); }

}  // namespace

void ExtraFds::begin(Pistache::Tcp::Transport& transport) {
  if (std::exchange(begun_, true)) return;
  for (const auto& each : what_) {
    const int fd = fds_.emplace_back(each.begin());
    if (fd < 0) continue;
    transport.reactor()->registerFd(transport.key(), fd, NotifyOn::Read, tag_of(fd), Mode::Edge);
  }
}

void ExtraFds::end() {
  if (!std::exchange(begun_, false)) return;
  fds_.clear();
  for (const auto& each : what_) each.end();
}

bool ExtraFds::is(const Entry& entry) const { return std::ranges::find(fds_, fd_of(entry)) != fds_.end(); }

bool ExtraFds::is_due() const {
  for (std::size_t i = 0; i < fds_.size(); ++i) {
    if (fds_[i] >= 0 && what_[i].due && what_[i].due()) return true;
  }
  return false;
}

bool ExtraFds::ready(const Entry& entry) const {
  const auto found = std::ranges::find(fds_, fd_of(entry));
  if (found == fds_.end()) return false;
  what_[static_cast<std::size_t>(found - fds_.begin())].ready();
  return true;
}

std::shared_ptr<Pistache::Aio::Handler> Transport::clone() const {
  return std::make_shared<Transport>(handler_->clone(), state_, extra_fds_);
}

void Transport::onReady(const Pistache::Aio::FdSet& fds) {
  begin_extra_fds();
  const bool had_events = turn(fds);
  const bool is_due = state_->in_flight() >= kManyRequests && extra_fds_->is_due();
  if (is_due || due_spin_.is_spinning()) due_spin_.after_turn(had_events, is_due, DueSpin::Clock::now());
}

// Runs in the first turn after the listener has started the extra fds.
void Transport::begin_extra_fds() {
  if (extra_fds_->fds().empty() || std::exchange(extra_fds_begun_, true)) return;
  for (const int fd : extra_fds_->fds()) {
    if (fd >= 0) spin_wait_.watch(fd);
  }
  if (due_spin_.begin() < 0) return;
  try {
    reactor()->registerFd(key(), due_spin_.fd(), NotifyOn::Read, tag_of(due_spin_.fd()), Mode::Level);
  } catch (const std::exception& e) {
    base::log_warn("front_spin_failed", {{"error", e.what()}});  // then the thread just does not spin
  }
}

bool Transport::is_due_spin(const Entry& entry) const { return fd_of(entry) == due_spin_.fd(); }

// True: an extra fd was ready.
bool Transport::turn(const Pistache::Aio::FdSet& fds) {
  const auto events = std::ranges::count_if(fds, [this](const Entry& entry) { return !is_due_spin(entry); });
  if (events == 0) return false;
  spin_wait_.begin_turn(static_cast<std::size_t>(events));
  const bool had_events = take(fds);
  spin_wait_.end_turn(state_->in_flight());
  return had_events;
}

// Handles extra fds first: a reply that has arrived frees its connection for a request in the same turn.
bool Transport::take(const Pistache::Aio::FdSet& fds) {
  bool had_events = false;
  for (const Entry& entry : fds) had_events = extra_fds_->ready(entry) || had_events;
  std::vector<Event> others;
  for (const Entry& entry : fds) {
    if (!extra_fds_->is(entry) && !is_due_spin(entry) && !read(entry)) others.push_back(event_of(entry));
  }
  if (!others.empty()) Pistache::Tcp::Transport::onReady(Pistache::Aio::FdSet(std::move(others)));
  return had_events;
}

// False: the event is not input from a client, or it is the client's end. A read that does not fill the
// buffer has emptied the socket, and later input causes a new event. If the client's end arrived with these
// bytes, no further event will come, so it reads until recv returns 0.
bool Transport::read(const Entry& entry) {
  const auto found = entry.isReadable() ? peers.find(fd_of(entry)) : peers.end();
  if (found == peers.end()) return false;
  const std::shared_ptr<Pistache::Tcp::Peer>& peer = found->second;  // only Pistache's onReady removes it
  const bool ends = has_ended(entry);
  spin_wait_.received(peer->fd(), peer->getID());
  for (;;) {
    const ssize_t got = ::recv(peer->fd(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    const auto size = static_cast<std::size_t>(got);
    handler_->onInput(buffer_.data(), size, peer);
    if (size < buffer_.size() && !ends) return true;
  }
}

}  // namespace millrace::front
