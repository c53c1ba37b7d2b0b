#pragma once
#include <map>
#include <string>
#include <vector>

#include "app/litellm/models.h"
#include "app/litellm/router.h"
#include "platform/base/result.h"

namespace millrace::app {

// A configuration of LiteLLM's proxy in our words.
struct LitellmImport {
  std::string yaml;      // a file of ours, which loads as it is
  std::size_t rows = 0;  // of `models`, and of `providers`
  // "litellm.yaml:12: …", by line: what was left out, and what has to be looked at; then what has no line.
  std::vector<std::string> notes;
};

// `file_name` is for places and the first line. No secret of the file gets into the result: one in plain
// becomes the name of a variable, and a note says so. kInvalidField: it is no YAML, or nothing of it can be
// imported; the message has every reason.
base::Result<LitellmImport> import_litellm(const std::string& file_name, const std::string& text,
                                           const std::map<std::string, std::string>& environment);

// The file: YAML of ours, one value a line.
std::string imported_text(const std::string& file_name, const ImportedModels& models,
                          const ImportedRouting& routing);

}  // namespace millrace::app
