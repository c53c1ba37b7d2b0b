#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/provider.h"
#include "schemas/media/ocr.h"

// OCR by a provider's model, in Mistral's format (…/ocr). Pure functions, thread-safe.
namespace millrace::providers {

// A document to send to a provider.
struct OcrCall {
  std::string media_type;                            // "application/pdf", "image/png", …
  std::function<base::Result<std::string>()> bytes;  // of the document; blocks
  schemas::PageList pages;                           // if the document has pages; empty: all
  bool image_data = false;                           // include the images of the pages, as data URIs
  std::string options = {};                          // OcrSpec::options
};

// nullopt: the provider's API supports it.
std::optional<base::Error> no_ocr(const Target& target);
// REQUIRES: no_ocr(target) is nullopt. Errors: those of `bytes`. Blocks as `bytes` does.
base::Result<WireRequest> ocr_request(const Target& target, const OcrCall& call);
// kUpstream: `body` is not a reply. Pages are in the order received; invalid ones are left out. All members
// of pages and images are kept, and those of the reply with its first page.
base::Result<std::vector<schemas::OcrPage>> ocr_reply(const Target& target, std::string_view body);

}  // namespace millrace::providers
