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

// Range requests (RFC 9110, sections 13 and 14).
namespace millrace::api {

struct ByteRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// The part of `size` bytes that is sent.
struct RangeChoice {
  enum class Kind {
    kWhole,        // 200: no range, several ranges, an unsupported range, or If-Range does not match
    kPart,         // 206
    kUnsatisfied,  // 416
  };
  Kind kind = Kind::kWhole;
  ByteRange range;
};
// Evaluates Range and If-Range of a GET. `etag` is a strong ETag with quotes.
RangeChoice choose_range(const front::Head& head, std::string_view etag, std::int64_t size);

// True if If-None-Match contains `etag` or is `*`: 304.
bool is_unchanged(const front::Head& head, std::string_view etag);

// Sends a part of a file as a response body. It is read in pieces on the pool, and reading pauses while the
// client is slow. So few bytes are in memory at once, however large the file is. Thread-safe.
class FileStream final : public std::enable_shared_from_this<FileStream> {
 public:
  // Sends `head`, the Content-Length and the bytes (none for HEAD). If the file is too short or cannot be
  // read, the connection is cut; for a part of at most kSmallReply the response is 500 instead. Blocks for
  // the first pieces; runs on the pool.
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
  ByteRange rest_;  // used only by the running pump; one runs at a time
};

}  // namespace millrace::api
