#include "api/front/transport.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <pistache/tcp.h>

namespace millrace::front {
namespace {

using Entry = Pistache::Aio::FdSet::Entry;
using Pistache::Polling::Event;
using Pistache::Polling::NotifyOn;

Event event_of(const Entry& entry) {
  Event event(entry.getTag());
  if (entry.isReadable()) event.flags.setFlag(NotifyOn::Read);
  if (entry.isWritable()) event.flags.setFlag(NotifyOn::Write);
  if (entry.isHangup()) event.flags.setFlag(NotifyOn::Hangup);
  return event;
}

}  // namespace

void Watched::begin(Pistache::Tcp::Transport& transport) {
  if (!what_.begin || std::exchange(begun_, true)) return;
  fd_ = what_.begin();
  if (fd_ < 0) return;
  transport.reactor()->registerFd(transport.key(), fd_, NotifyOn::Read,
                                  Pistache::Polling::Tag(static_cast<std::uint64_t>(fd_)),
                                  Pistache::Polling::Mode::Edge);
}

void Watched::end() {
  if (std::exchange(begun_, false)) what_.end();
}

bool Watched::is(const Entry& entry) const {
  return fd_ >= 0 && entry.getTag().value() == static_cast<std::uint64_t>(fd_);
}

std::shared_ptr<Pistache::Aio::Handler> Transport::clone() const {
  return std::make_shared<Transport>(handler_->clone(), watched_);
}

void Transport::onReady(const Pistache::Aio::FdSet& fds) {
  const auto is_beside = [this](const Entry& entry) { return watched_->is(entry); };
  if (std::none_of(fds.begin(), fds.end(), is_beside)) return Pistache::Tcp::Transport::onReady(fds);
  std::vector<Event> others;
  for (const Entry& entry : fds) {
    if (!is_beside(entry)) others.push_back(event_of(entry));
  }
  if (!others.empty()) Pistache::Tcp::Transport::onReady(Pistache::Aio::FdSet(std::move(others)));
  watched_->ready();
}

}  // namespace millrace::front
