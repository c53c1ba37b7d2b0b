#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/fd.h"

namespace millrace::engines {

// Frames over a Unix stream socket: a 32-bit little-endian length, followed by that many bytes.

// A page with its pictures stays below this limit: pictures that do not fit are sent without data.
inline constexpr std::size_t kFrameBytesMax = std::size_t{48} << 20;

// Blocks until everything is written, at most up to `until`. Sends the descriptor `fd` along when it is >= 0.
// False: the peer is gone, or it did not read everything in time.
bool send_frame(int socket, std::string_view payload, int fd = -1,
                std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());

// Collects frames from a socket. Not thread-safe.
class FrameReader {
 public:
  enum class State { kOpen, kClosed };
  // Calls recvmsg once; on a blocking socket it waits for data. kClosed: end of stream, an error, or a frame
  // above kFrameBytesMax.
  State read_some(int socket);
  std::optional<std::string> next();
  // The descriptor that was received with a frame; can be taken once.
  base::Fd take_fd() { return std::move(fd_); }

 private:
  std::optional<std::size_t> frame_length() const;
  std::string buffer_;
  std::size_t taken_ = 0;
  base::Fd fd_;
};

}  // namespace millrace::engines
