#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

// Carries the bytes of a connection between its socket and two pipes into a jail, on a thread of its own, so
// that a jail that is slow holds nobody else up. The jail has no socket of the host's network namespace:
// whoever holds one there could connect it anew, from the host. When the jail has closed its end, what it
// wrote is sent as long as the client takes it.
class ConnectionRelay {
 public:
  // The jail's ends. They are to be closed here once the jail has them.
  struct JailEnds {
    base::Fd input, output;
  };
  struct Started;
  // `socket` is connected. kOverloaded: no descriptor is left. Throws std::system_error: no thread is.
  static base::Result<Started> start(base::Fd socket);
  // Closes the connection at once.
  ~ConnectionRelay();
  ConnectionRelay(const ConnectionRelay&) = delete;
  ConnectionRelay& operator=(const ConnectionRelay&) = delete;

  // Readable once the connection is over.
  int over_fd() const { return over_.get(); }
  bool is_over() const;

  // A client that takes nothing of what the jail has left for so long is let go.
  static constexpr std::chrono::seconds kStalled{10};
  // After the last byte the client is given so long to close, so that no reset overtakes that byte.
  static constexpr std::chrono::seconds kLinger{2};

 private:
  static constexpr std::size_t kFlowBytes = std::size_t{64} << 10;
  // What was read of one direction and is not written yet.
  struct Flow {
    std::unique_ptr<char[]> bytes = std::make_unique<char[]>(kFlowBytes);
    std::size_t begin = 0, end = 0;
    bool is_empty() const { return begin == end; }
  };
  ConnectionRelay(base::Fd socket, base::Fd to_jail, base::Fd from_jail, base::Fd stop, base::Fd over);
  void run();
  bool step();
  int wait_limit() const;
  void end_within(std::chrono::seconds time);
  void read_client();
  void read_jail();
  void write_jail();
  void write_client();
  void settle();

  base::Fd socket_;     // closed: the connection is over
  base::Fd to_jail_;    // closed: the jail gets no more
  base::Fd from_jail_;  // closed: the jail sends no more
  const base::Fd stop_, over_;
  bool client_has_ended_ = false;                     // it sends no more
  bool is_shut_ = false;                              // our end of file was sent to the client
  std::chrono::steady_clock::time_point deadline_{};  // counts once the jail sends no more
  Flow in_, out_;
  std::jthread thread_;
};

struct ConnectionRelay::Started {
  std::unique_ptr<ConnectionRelay> relay;
  JailEnds jail;
};

}  // namespace millrace::machines
