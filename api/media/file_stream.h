#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/call.h"
#include "api/context.h"
#include "api/front/exchange.h"
#include "storage/blobs/blobs.h"

// Which bytes of a representation a request asks for (RFC 9110, sections 13 and 14).
namespace millrace::api {

struct ByteRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// What of `size` bytes is sent.
struct RangeChoice {
  enum class Kind {
    kWhole,  // 200: no range, one of several, one that is not understood, or If-Range names another state
    kPart,   // 206
    kUnsatisfied,  // 416
  };
  Kind kind = Kind::kWhole;
  ByteRange range;
};
// By Range and If-Range of a GET; `etag` is a strong one, with its quotes.
RangeChoice choose_range(const front::Head& head, std::string_view etag, std::int64_t size);

// True if If-None-Match names `etag` (or is `*`): 304.
bool is_unchanged(const front::Head& head, std::string_view etag);

// A part of a file as the body of an answer: read in pieces on the pool, none while the client is slow, so
// that few of its bytes are in memory at once however large it is. Thread-safe.
class FileStream final : public std::enable_shared_from_this<FileStream> {
 public:
  // Answers `call` with `head`, the Content-Length and the bytes; a HEAD without them. A file that ends early
  // or cannot be read cuts the connection, or is a 500 where the part is at most kSmallReply. Blocks for the
  // first pieces: pool.
  static void start(Context& context, CallPtr call, storage::OpenFile file, ByteRange range,
                    front::Reply head);

  FileStream(Context& context, CallPtr call, storage::OpenFile file, ByteRange range)
      : context_(context), call_(std::move(call)), file_(std::move(file)), rest_(range) {}

 private:
  enum class Step { kMore, kBacklog, kOver };
  Step send_piece();
  void pump();
  void post_pump();

  Context& context_;
  const CallPtr call_;
  const storage::OpenFile file_;
  ByteRange rest_;  // only the running pump touches it; one runs at a time
};

}  // namespace millrace::api
