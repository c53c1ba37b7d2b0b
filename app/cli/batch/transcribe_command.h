#pragma once
#include <string>

#include "app/cli/batch/batch_command.h"

namespace millrace::cli {

struct TranscribeRequest : BatchRequest {
  std::string format = "text";  // text, srt, vtt, json, verbose_json
  std::string model;            // empty: the gateway's own
  std::string language;         // empty: not said
  bool translate = false;       // into English
};

// `millrace transcribe`: recordings into text, as run_batch says.
int run_transcribe(const TranscribeRequest& request, const ClientOptions& options);

}  // namespace millrace::cli
