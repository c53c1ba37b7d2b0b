#pragma once
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"

// What the API looks at of a document: that its base64 is base64, its size and its magic bytes
// (docs/design/architecture.md §5). Errors: kInvalidField (not base64), kDocumentEmpty, kDocumentTooLarge,
// kDocumentUnsupported.
namespace millrace::api {

// How many bytes `base64` decodes to, if it is base64; at least that where it has line breaks.
std::size_t decoded_size(std::string_view base64);

// The bytes of a document of at most schemas::kInlineDocumentMax. Line breaks and spaces are left out.
base::Result<std::string> small_document(std::string_view base64);

// Decodes in pieces straight into a new blob: no second copy of the document is in memory. Line
// breaks and spaces are left out. Blocks on the disk.
base::Result<storage::Staged> stage_document(storage::Blobs& blobs, std::string_view base64);

}  // namespace millrace::api
