#pragma once
#include <optional>
#include <string>

#include "app/cli/client.h"

namespace millrace::cli {

struct BatchMakeRequest {
  std::string documents;            // a folder of documents, or one document
  std::string output;               // the file of requests; "-": standard output
  std::string model;                // empty: the gateway's default
  std::optional<int> expire_hours;  // of the uploaded documents
};

// `millrace batch make --ocr`: uploads every document of a folder and writes the file of requests that reads
// them. `custom_id` is the path below the folder. The file is complete or not there. After an interruption
// the same command uploads only what is missing: it keeps a Journal beside the output. Exit code: 0 all
// documents have a request, 1 some could not be read or uploaded, 130 interrupted, else as ExitCode.
int batch_make(const BatchMakeRequest& request, const ClientOptions& options);

}  // namespace millrace::cli
