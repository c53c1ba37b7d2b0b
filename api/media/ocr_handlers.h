#pragma once
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"

// The API's checks of a document: valid base64, size and magic bytes (docs/design/architecture.md §5).
// Errors: kInvalidField (not base64), kDocumentEmpty, kDocumentTooLarge, kDocumentUnsupported.
namespace millrace::api {

// The decoded size of `base64`, if it is valid; an upper bound if it has line breaks.
std::size_t decoded_size(std::string_view base64);

// The bytes of a document of at most schemas::kInlineDocumentMax. Line breaks and spaces are ignored.
base::Result<std::string> small_document(std::string_view base64);

// Decodes in pieces directly into a new blob, without a second copy of the document in memory. Line breaks
// and spaces are ignored. Blocks on the disk.
base::Result<storage::Staged> stage_document(storage::Blobs& blobs, std::string_view base64);

}  // namespace millrace::api
