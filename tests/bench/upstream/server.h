#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "platform/base/result.h"
#include "tests/bench/measure/socket.h"

namespace millrace::bench {

// How streams go: `frames` of them, one every 1/rate seconds (rate 0: each as soon as the one before is
// written), then the end. frames 0: the first one, and nothing more until the client leaves.
struct Manner {
  std::uint64_t frames = 3;
  double rate = 0;
};

// A chat upstream that answers at once: one thread, one epoll, each frame with a write of its own. A client
// that lets its socket fill is cut off.
class UpstreamServer {
 public:
  UpstreamServer(Listening listening, Manner manner) : listening_(std::move(listening)), manner_(manner) {}
  // Serves until the process is ended; an error of the system.
  base::Error serve();

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    Socket socket;
    std::string input;
    std::uint64_t id = 0;
    std::uint64_t next_frame = 0;  // of the stream under way
  };
  struct Due {
    Clock::time_point when;
    int fd;
    std::uint64_t client;
  };

  base::Status watch(int fd);
  void accept_one();
  void read(int fd);
  bool answer(Client& client, bool stream);
  bool begin_stream(Client& client);
  bool write(const Client& client, std::string_view bytes);
  bool write_frame(Client& client);
  void write_due();
  timespec until_due() const;
  Clock::duration interval() const {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / manner_.rate));
  }

  Listening listening_;
  const Manner manner_;
  const std::string whole_ = whole();
  Socket epoll_;
  std::unordered_map<int, Client> clients_;  // by fd
  std::uint64_t ids_ = 0;
  std::deque<Due> due_;  // in order, since all intervals are the same
  static std::string whole();
};

}  // namespace millrace::bench
