#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/batch/batch_inputs.h"
#include "app/cli/batch/batch_text.h"
#include "app/cli/batch/resume_file.h"
#include "app/cli/client.h"
#include "app/cli/progress.h"
#include "platform/base/result.h"

namespace millrace::cli {

// The part of a batch command that is specific to it (`ocr`, `transcribe`); Batch does the rest.
class BatchWork {
 public:
  // The request that submits one file.
  struct Upload {
    std::string path;  // of the POST
    std::string content_type, body;
  };
  // A parsed result.
  struct ParsedResult {
    std::string text;           // for standard output
    std::optional<int> parts;   // number of pages, if the result has it
    std::string partial_error;  // error of a part of the document; empty: none
    std::vector<PartWarning> warnings = {};
    // Writes the output file atomically. kInternal names the file that cannot be written.
    std::function<base::Status(const std::filesystem::path& output)> write;
  };

  virtual ~BatchWork() = default;
  virtual std::string command() const = 0;  // "ocr": also in the resume file's name
  virtual ProgressNouns nouns() const = 0;
  virtual InputKinds kinds() const = 0;
  // Name of the text's member in a JSON row, if the text is not written to a file.
  virtual std::string text_member() const = 0;
  // The options that the result depends on. A changed stamp means that the document has to be processed
  // again. Versions of the program agree on it: a new one would process, and pay for, everything again.
  virtual std::string stamp() const = 0;
  // A changed layout means that output files are written again from the stored results. If a result is gone,
  // changed options process the document again, and a changed version alone leaves the file as it is.
  virtual TextLayout layout() const { return {}; }
  // The options as typed on the command line, each after a space.
  virtual std::string options() const = 0;
  // Requests what `upload` needs from the gateway. Called before each upload; has an effect once. An error is
  // handled like one of the upload's request.
  virtual std::optional<ClientError> prepare(Client& /*client*/) const { return std::nullopt; }
  // True: the gateway refuses this request of `upload`, but `upload` makes another one from now on.
  virtual bool has_other_request(const ClientError& /*error*/) const { return false; }
  // Reads a whole file and makes its request. Errors with a code of the gateway are shown with that code.
  // kNotFound: the file cannot be read.
  virtual base::Result<Upload> upload(const std::filesystem::path& file) const = 0;
  // Parses the body of a job's result. kUpstream: it is not one; the message completes "it answers, but …".
  virtual base::Result<ParsedResult> read(std::string body) const = 0;
};

}  // namespace millrace::cli
