#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "ai/engines/pool/engine_pool.h"
#include "ai/engines/protocol/wire.h"
#include "ai/engines/speech/loadable_model.h"
#include "platform/process/child.h"
#include "platform/process/jail.h"

namespace millrace::engines {

// One jailed millrace-engine and the socket to it. Used by one thread. The destructor kills the whole process
// tree of the child.
class EngineChild {
 public:
  // Blocks until the process is started (about 10 ms); the child initialises itself concurrently.
  static base::Result<EngineChild> start(process::Spawner& spawner, const process::Jail& jail,
                                         const EnginePool::Options& options);

  // Makes `input` (a Document or Recording, with descriptor `fd`) the subject of the next requests, with the
  // request `opening`. The child gets a sealed copy in memory, never `fd` itself. Sends nothing when `input`
  // is already open. False: the child is gone, or the host could not copy the bytes: see `take_host_error`.
  bool open(const std::shared_ptr<const void>& input, const Request& opening, int fd);
  // Makes `model` the current model of the child: sends its files, unless it is the current one already. The
  // files are copies in memory where the child has a /tmp of its own for their names; otherwise their paths
  // are sent, and the jail's user must be able to read them. False: as for `open`.
  bool open_model(const LoadableModelPtr& model);
  // Why the last `open` could not copy its input, or `open_model` its files; absent: it could. kOverloaded:
  // it is not the input's fault.
  std::optional<base::Error> take_host_error() { return std::exchange(host_error_, std::nullopt); }
  // False: the child is gone, or it did not read the request within EngineLimits::request_wall.
  bool send(const Request& request, int fd = -1);

  enum class ReadResult { kEvent, kGone, kTimeout, kInterrupted };
  // Waits up to `wall` for the next event; without time left, returns kTimeout at once. The wait ends with
  // kInterrupted when `interrupt_fd` is readable. kGone: the child ended, or it sent something that does not
  // parse.
  ReadResult next(Event& event, std::chrono::milliseconds wall, int interrupt_fd);
  // Call after kGone: true if the child exceeded its CPU limit (EngineLimits::child_cpu). Waits up to 2 s for
  // the process to end.
  bool hit_cpu_bound();
  bool alive() { return !child_.wait(std::chrono::milliseconds(0)); }

 private:
  EngineChild(process::Child child, base::Fd socket, std::chrono::milliseconds request_wall, bool has_tmp)
      : child_(std::move(child)),
        socket_(std::move(socket)),
        request_wall_(request_wall),
        has_tmp_(has_tmp) {}
  bool take_frame(Event& event, ReadResult& got);

  process::Child child_;
  base::Fd socket_;
  std::chrono::milliseconds request_wall_;
  bool has_tmp_;
  FrameReader frames_;
  std::weak_ptr<const void> opened_;
  LoadableModelPtr model_;
  std::shared_ptr<const LoadableModel::Copies> copies_;  // of the files of `model_`
  std::optional<base::Error> host_error_;
};

}  // namespace millrace::engines
