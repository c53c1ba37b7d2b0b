#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include "ai/engines/pool/engine_pool.h"
#include "ai/engines/protocol/wire.h"
#include "platform/process/child.h"
#include "platform/process/jail.h"

namespace millrace::engines {

// One jailed millrace-engine and the socket to it. Used by one thread; destroyed, the child's whole tree is
// killed.
class EngineChild {
 public:
  // Blocks for the start (about 10 ms); the child's own start-up goes on beside.
  static base::Result<EngineChild> start(process::Spawner& spawner, const process::Jail& jail,
                                         const EnginePool::Options& options);

  // Makes `input` (a Document or Recording, with descriptor `fd`) what the next requests are about, by the
  // request `opening`; nothing is sent when it already is. False: the child is gone.
  bool open(const std::shared_ptr<const void>& input, const Request& opening, int fd);
  // The same of one that does not take it within EngineLimits::request_wall.
  bool send(const Request& request, int fd = -1);

  enum class Got { kEvent, kGone, kTimeout, kInterrupted };
  // Waits up to `wall` for the next event (kTimeout at once when it is none); `interrupt_fd` readable ends
  // the wait. kGone: the child ended, or what it sent does not parse.
  Got next(Event& event, std::chrono::milliseconds wall, int interrupt_fd);
  // After kGone: it was ended by its bound of processor time (EngineLimits::child_cpu). Waits up to 2 s for
  // its end.
  bool hit_cpu_bound();
  bool alive() { return !child_.wait(std::chrono::milliseconds(0)); }

 private:
  EngineChild(process::Child child, base::Fd socket, std::chrono::milliseconds request_wall)
      : child_(std::move(child)), socket_(std::move(socket)), request_wall_(request_wall) {}
  bool take_frame(Event& event, Got& got);

  process::Child child_;
  base::Fd socket_;
  std::chrono::milliseconds request_wall_;
  FrameReader frames_;
  std::weak_ptr<const void> opened_;
};

}  // namespace millrace::engines
