#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <pistache/transport.h>

#include "api/front/core.h"
#include "api/front/server.h"
#include "api/front/spin_policy.h"

// Pistache's side of the sockets, for the listener's source only.
namespace millrace::front {

// What the one front thread waits for beside its clients. On that thread but for `end`.
class ExtraFds {
 public:
  explicit ExtraFds(std::vector<Server::Options::ExtraFd> what) : what_(std::move(what)) {}

  void begin(Pistache::Tcp::Transport& transport);  // whose thread it is
  void end();                                       // when that thread has ended
  const std::vector<int>& fds() const { return fds_; }
  bool is(const Pistache::Aio::FdSet::Entry& entry) const;     // and no client
  bool is_due() const;                                         // one of them
  bool ready(const Pistache::Aio::FdSet::Entry& entry) const;  // false: it is a client, and nothing was done

 private:
  const std::vector<Server::Options::ExtraFd> what_;
  bool begun_ = false;
  std::vector<int> fds_;  // of each of them; -1: none
};

// Pistache's own, which would end the process at an event that is not of its clients. (Its reactor knows of
// several handlers, but loses the number of one where it encodes an event.) It also reads what clients send
// itself: Pistache's asks every socket once more, which has been emptied already; how a client ends is
// Pistache's again. Between two turns of its thread it may stay awake.
class Transport final : public Pistache::Tcp::Transport {
 public:
  Transport(const std::shared_ptr<Pistache::Tcp::Handler>& handler, std::shared_ptr<Core> core,
            std::shared_ptr<ExtraFds> watched)
      : Pistache::Tcp::Transport(handler),
        handler_(handler),
        core_(std::move(core)),
        watched_(std::move(watched)),
        spin_wait_(core_->limits.idle_poll),
        due_spin_(core_->limits.idle_poll.count() > 0 ? core_->limits.due_poll
                                                      : std::chrono::microseconds(0)) {}

  std::shared_ptr<Pistache::Aio::Handler> clone() const override;
  void onReady(const Pistache::Aio::FdSet& fds) override;

 private:
  static constexpr std::size_t kReadBytes = 16u << 10;  // at a time

  static constexpr std::uint64_t kManyRequests = 8;  // under way: it stays awake for what is due

  void begin_extra_fds();
  bool is_due_spin(const Pistache::Aio::FdSet::Entry& entry) const;
  bool turn(const Pistache::Aio::FdSet& fds);
  bool take(const Pistache::Aio::FdSet& fds);
  bool read(const Pistache::Aio::FdSet::Entry& entry);

  const std::shared_ptr<Pistache::Tcp::Handler> handler_;
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<ExtraFds> watched_;
  SpinWait spin_wait_;
  DueSpin due_spin_;
  bool extra_fds_begun_ = false;
  std::array<char, kReadBytes> buffer_;
};

}  // namespace millrace::front
