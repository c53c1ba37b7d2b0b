#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/limits.h"
#include "ai/engines/pages.h"
#include "platform/base/result.h"
#include "platform/process/fd.h"

namespace millrace::engines {

// What the gateway and an engine child say to each other over a Unix stream socket: frames of a 32-bit
// little-endian length and JSON. The child's side is hostile once a document has broken it: frames are
// bounded, and what does not parse ends the child.

struct Request {
  enum class Kind {
    kLimits,     // first, once
    kOpen,       // the document of the following requests; its descriptor travels with the frame
    kInspect,    // → kInfo or kFailed
    kRecognise,  // → kBegin and kPage per page, then kDone or kFailed
  };
  Kind kind = Kind::kInspect;
  EngineLimits limits;
  schemas::Media media = schemas::Media::kPdf;
  std::uint64_t size_bytes = 0;
  std::vector<int> pages;
  bool image_data = false;
};

struct Event {
  enum class Kind { kBegin, kPage, kInfo, kFailed, kDone };
  Kind kind = Kind::kDone;
  int page = -1;        // kBegin: the work on this page (or from it on) begins
  PageOutcome outcome;  // kPage
  int pages = 0;        // kInfo
  base::Error error;    // kFailed
};

std::string encode(const Request& request);
std::string encode(const Event& event);
base::Result<Request> decode_request(std::string_view frame);
base::Result<Event> decode_event(std::string_view frame);

// A page with its pictures stays below this: pictures that would not fit are left without data.
inline constexpr std::size_t kFrameBytesMax = std::size_t{48} << 20;

// Blocks until all is written (`fd` >= 0 goes along). False: the other side is gone.
bool send_frame(int socket, std::string_view payload, int fd = -1);

// Collects frames from a socket. Not thread-safe.
class FrameReader {
 public:
  enum class State { kOpen, kClosed };
  // One recvmsg: blocks on a blocking socket when nothing is there. kClosed: end of stream, an error, or a
  // frame above kFrameBytesMax.
  State read_some(int socket);
  std::optional<std::string> next();
  // The descriptor that came with a frame, once.
  process::Fd take_fd() { return std::move(fd_); }

 private:
  std::optional<std::size_t> frame_length() const;
  std::string buffer_;
  std::size_t taken_ = 0;
  process::Fd fd_;
};

}  // namespace millrace::engines
