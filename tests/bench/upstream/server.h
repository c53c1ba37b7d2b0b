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

// The shape of a stream: `frames` frames, one every 1/rate seconds (rate 0: each as soon as the previous one
// is written), then the end. frames 0: only the first frame; the stream stays open until the client
// disconnects. A whole reply comes after `delay`; REQUIRES: rate 0 or delay 0.
struct Manner {
  std::uint64_t frames = 3;
  double rate = 0;
  std::chrono::milliseconds delay{0};
};

// A chat upstream that answers immediately, or after a fixed time. It uses one thread and one epoll, and
// writes each frame separately. It closes the connection of a client whose socket buffer is full.
class UpstreamServer {
 public:
  UpstreamServer(Listening listening, Manner manner) : listening_(std::move(listening)), manner_(manner) {}
  // Serves until the process ends. Returns only on a system error.
  base::Error serve();

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    Socket socket;
    std::string input;
    std::uint64_t id = 0;
    std::uint64_t next_frame = 0;  // of the current stream
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
  bool answer_later(const Client& client);
  bool begin_stream(Client& client);
  bool write(const Client& client, std::string_view bytes);
  bool write_frame(Client& client);
  void write_due();
  bool continue_stream(const Due& due, Client& client);
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
  std::deque<Due> due_;  // in order of time, because all intervals are equal
  static std::string whole();
};

}  // namespace millrace::bench
