#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <thread>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

// Copies bytes between the socket of a connection and two pipes into a jail. Each relay has a thread, so a
// slow jail does not delay other connections. The jail never gets a socket of the host's network namespace,
// because a process that holds one could connect it to another address from the host. After the jail has
// closed its end, the remaining output is sent for as long as the client keeps reading it.
class ConnectionRelay {
 public:
  // The jail's ends. Close our copies once the jail has been started.
  struct JailPipes {
    base::Fd input, output;
  };
  struct Started;
  // `socket` is a connected socket; `received`, at most 64 KiB, has been read from it already. kOverloaded:
  // no file descriptor is left. Throws std::system_error if no thread can be started.
  static base::Result<Started> start(base::Fd socket, std::string_view received);
  // Closes the connection immediately.
  ~ConnectionRelay();
  ConnectionRelay(const ConnectionRelay&) = delete;
  ConnectionRelay& operator=(const ConnectionRelay&) = delete;

  // Becomes readable when the connection is over.
  int over_fd() const { return over_.get(); }
  bool is_over() const;

  // After the jail has closed its end: the connection is closed if the client reads nothing for this long.
  static constexpr std::chrono::seconds kStalled{10};
  // After the last byte, the client has this long to close the connection. Closing it ourselves earlier could
  // send a reset that overtakes the last byte.
  static constexpr std::chrono::seconds kLinger{2};

 private:
  static constexpr std::size_t kFlowBytes = std::size_t{64} << 10;
  // Bytes of one direction that were read but not yet written.
  struct Flow {
    std::unique_ptr<char[]> bytes = std::make_unique<char[]>(kFlowBytes);
    std::size_t begin = 0, end = 0;

    explicit Flow(std::string_view first = {}) : end(first.copy(bytes.get(), kFlowBytes)) {}
    bool is_empty() const { return begin == end; }
  };
  ConnectionRelay(base::Fd socket, std::string_view received, base::Fd to_jail, base::Fd from_jail,
                  base::Fd stop, base::Fd over);
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
  base::Fd to_jail_;    // closed: no more input for the jail
  base::Fd from_jail_;  // closed: no more output from the jail
  const base::Fd stop_, over_;
  bool client_has_ended_ = false;                     // end of file was received from the client
  bool is_shut_ = false;                              // end of file was sent to the client
  std::chrono::steady_clock::time_point deadline_{};  // applies once `from_jail_` is closed
  Flow in_, out_;
  std::jthread thread_;
};

struct ConnectionRelay::Started {
  std::unique_ptr<ConnectionRelay> relay;
  JailPipes jail;
};

}  // namespace millrace::machines
