#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "app/cli/batch/batch_inputs.h"
#include "app/cli/progress.h"
#include "platform/base/result.h"

namespace millrace::cli {

// What a command of many files (`ocr`, `transcribe`) has of its own; the rest is Batch's.
class BatchWork {
 public:
  // A file on its way to the gateway.
  struct Upload {
    std::string path;  // of the POST
    std::string content_type, body;
  };
  // What came of it.
  struct Made {
    std::string text;          // for standard output
    std::optional<int> parts;  // pages, where the result says it
    std::string complaint;     // what went wrong in part; empty: nothing
    // To its file, whole or not at all; kInternal names the file that cannot be written.
    std::function<base::Status(const std::filesystem::path& output)> write;
  };

  virtual ~BatchWork() = default;
  virtual std::string command() const = 0;  // "ocr": also in the resume file's name
  virtual Words words() const = 0;
  virtual InputKinds kinds() const = 0;
  virtual std::string text_member() const = 0;  // of a JSON row, where no file holds the text
  // What the result depends on, beside the file: it has changed when this has.
  virtual std::string stamp() const = 0;
  // Its options as a command line has them, each after a space.
  virtual std::string options() const = 0;
  // Of a whole file. Errors with a code of the gateway's are told with it; kNotFound: it cannot be read.
  virtual base::Result<Upload> upload(const std::filesystem::path& file) const = 0;
  // Reads the body of a job's result. kUpstream: it is none; the message completes "it answers, but …".
  virtual base::Result<Made> read(std::string body) const = 0;
};

}  // namespace millrace::cli
