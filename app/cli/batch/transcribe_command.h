#pragma once
#include <string>

#include "app/cli/batch/batch_command.h"

namespace millrace::cli {

struct TranscribeArguments : BatchArguments {
  std::string format = "text";  // text, srt, vtt, json, verbose_json, diarized_json
  std::string model;            // empty: the gateway's default
  std::string language;         // empty: not specified
  bool translate = false;       // translate into English
};

// `millrace transcribe`: converts recordings to text. Behaves as run_batch.
int run_transcribe(const TranscribeArguments& request, const ClientOptions& options);

}  // namespace millrace::cli
