#pragma once
#include <memory>

#include "api/byte_range.h"
#include "api/call.h"
#include "api/context.h"
#include "storage/blobs.h"

namespace millrace::api {

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
