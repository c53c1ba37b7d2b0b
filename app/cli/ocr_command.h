#pragma once
#include <string>

#include "app/cli/batch_command.h"

namespace millrace::cli {

struct OcrRequest : BatchRequest {
  std::string pages;    // "0-5,7"; empty: all
  std::string model;    // empty: the gateway's default
  bool images = false;  // pictures beside the markdown
};

// `millrace ocr`: documents into markdown, as run_batch says.
int run_ocr(const OcrRequest& request, const ClientOptions& options);

}  // namespace millrace::cli
