#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <pistache/transport.h>

#include "api/front/server.h"
#include "api/front/server_state.h"
#include "api/front/spin_policy.h"

// The transport for Pistache's reactor. Used only by listener.cpp.
namespace millrace::front {

// The extra fds that the one front thread watches besides its clients. Used on that thread, except for `end`.
class ExtraFds {
 public:
  explicit ExtraFds(std::vector<Server::Options::ExtraFd> what) : what_(std::move(what)) {}

  void begin(Pistache::Tcp::Transport& transport);  // the transport of that thread
  void end();                                       // call when that thread has ended
  const std::vector<int>& fds() const { return fds_; }
  bool is(const Pistache::Aio::FdSet::Entry& entry) const;     // true: an extra fd, not a client
  bool is_due() const;                                         // true: at least one of them is due
  bool ready(const Pistache::Aio::FdSet::Entry& entry) const;  // false: it is a client; nothing was done

 private:
  const std::vector<Server::Options::ExtraFd> what_;
  bool begun_ = false;
  std::vector<int> fds_;  // one per ExtraFd; -1: none
};

// Reads from the clients and gives the bytes to `PistacheHandler::onInput`. Pistache handles the end of a
// client. It replaces Pistache's own transport because that aborts at an event of an fd that is not a client
// (the reactor loses the handler's number when it encodes an event), and reads every socket once more after
// it is empty. Between two turns the thread may spin.
class Transport final : public Pistache::Tcp::Transport {
 public:
  Transport(const std::shared_ptr<Pistache::Tcp::Handler>& handler, std::shared_ptr<ServerState> state,
            std::shared_ptr<ExtraFds> watched)
      : Pistache::Tcp::Transport(handler),
        handler_(handler),
        state_(std::move(state)),
        extra_fds_(std::move(watched)),
        spin_wait_(state_->limits.idle_poll),
        due_spin_(state_->limits.idle_poll.count() > 0 ? state_->limits.due_poll
                                                       : std::chrono::microseconds(0)) {}

  std::shared_ptr<Pistache::Aio::Handler> clone() const override;
  void onReady(const Pistache::Aio::FdSet& fds) override;

 private:
  static constexpr std::size_t kReadBytes = 16u << 10;  // per read

  static constexpr std::uint64_t kManyRequests =
      8;  // requests in progress: from here on it stays awake for due events

  void begin_extra_fds();
  bool is_due_spin(const Pistache::Aio::FdSet::Entry& entry) const;
  bool turn(const Pistache::Aio::FdSet& fds);
  bool take(const Pistache::Aio::FdSet& fds);
  bool read(const Pistache::Aio::FdSet::Entry& entry);

  const std::shared_ptr<Pistache::Tcp::Handler> handler_;
  const std::shared_ptr<ServerState> state_;
  const std::shared_ptr<ExtraFds> extra_fds_;
  SpinWait spin_wait_;
  DueSpin due_spin_;
  bool extra_fds_begun_ = false;
  std::array<char, kReadBytes> buffer_;
};

}  // namespace millrace::front
