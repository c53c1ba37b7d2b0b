#include "api/document.h"

#include <algorithm>
#include <memory>

#include "platform/base/base64.h"
#include "schemas/media.h"
#include "schemas/ocr.h"

namespace millrace::api {
namespace {

using base::Code;

constexpr std::size_t kPieceChars = 1u << 20;  // of base64 per step

base::Error refuse(Code code, std::string message) {
  return base::error(code, std::move(message), "document.document_url");
}
base::Error not_base64() { return refuse(Code::kInvalidField, "The data URI does not hold valid base64"); }

base::Status check_head(std::string_view head) {
  if (head.empty()) return refuse(Code::kDocumentEmpty, "The document is empty");
  if (schemas::detect_media(head)) return {};
  return refuse(Code::kDocumentUnsupported, "The document is none of PDF, PNG, JPEG and WebP");
}

// The document's bytes in pieces; each one lives until the next.
class Pieces {
 public:
  explicit Pieces(std::string_view base64)
      : rest_(base64),
        room_(base::Base64Decoder::room(std::min(base64.size(), kPieceChars)) + kTail),
        buffer_(std::make_unique<char[]>(room_)) {}

  bool done() const { return rest_.empty(); }
  // kInvalidField: it is not base64.
  base::Result<std::string_view> next() {
    const std::string_view piece = rest_.substr(0, kPieceChars);
    rest_.remove_prefix(piece.size());
    const auto body = decoder_.decode(piece, buffer_.get());
    if (!body) return not_base64();
    const auto tail = rest_.empty() ? decoder_.finish(buffer_.get() + *body) : std::optional<std::size_t>(0);
    if (!tail) return not_base64();
    return std::string_view(buffer_.get(), *body + *tail);
  }

 private:
  static constexpr std::size_t kTail = 8;
  std::string_view rest_;
  std::size_t room_;
  std::unique_ptr<char[]> buffer_;
  base::Base64Decoder decoder_;
};

}  // namespace

std::size_t decoded_size(std::string_view base64) {
  while (base64.ends_with('=')) base64.remove_suffix(1);
  return base64.size() * 3 / 4;
}

base::Status check_small_document(std::string_view base64) {
  if (base64.empty()) return check_head({});
  Pieces pieces(base64);
  const auto bytes = pieces.next();
  if (!bytes) return bytes.error();
  return check_head(*bytes);
}

base::Result<storage::Staged> stage_document(storage::Blobs& blobs, std::string_view base64) {
  if (base64.empty()) return check_head({}).error();
  const auto size = static_cast<std::int64_t>(decoded_size(base64));
  if (size > schemas::kDocumentBytesMax)
    return refuse(Code::kDocumentTooLarge, "The document is larger than 50 MB");
  Pieces pieces(base64);
  std::unique_ptr<storage::BlobWriter> blob;
  while (!pieces.done()) {
    const auto bytes = pieces.next();
    if (!bytes) return bytes.error();
    if (!blob) {
      if (auto good = check_head(*bytes); !good) return good.error();
      auto begun = blobs.begin(size);
      if (!begun) return begun.error();
      blob = std::move(*begun);
    }
    if (auto written = blob->append(*bytes); !written) return written.error();
  }
  return blob->finish();
}

}  // namespace millrace::api
