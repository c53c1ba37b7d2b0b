#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/provider.h"
#include "schemas/media/ocr.h"

// Documents that a provider's model reads, in Mistral's form (…/ocr). Pure functions, thread-safe.
namespace millrace::providers {

// A document on its way to a provider.
struct OcrCall {
  std::string media_type;                            // "application/pdf", "image/png", …
  std::function<base::Result<std::string>()> bytes;  // of the document; blocks
  schemas::PageList pages;                           // of a document that has pages; empty: all
  bool image_data = false;                           // pictures on the pages, as data URIs
};

// nullopt: its API has it.
std::optional<base::Error> no_ocr(const Target& target);
// REQUIRES: no_ocr(target) is nullopt. Errors: those of `bytes`. Blocks as it does.
base::Result<WireRequest> ocr_request(const Target& target, const OcrCall& order);
// kUpstream for what is no reply. Pages as they came, those that are none of the protocol left out.
base::Result<std::vector<schemas::OcrPage>> ocr_reply(const Target& target, std::string_view body);

}  // namespace millrace::providers
