#pragma once
#include <map>
#include <string>
#include <vector>

#include "app/litellm/models.h"
#include "app/litellm/router.h"
#include "platform/base/result.h"

namespace millrace::app {

// A LiteLLM proxy configuration, converted.
struct LitellmImport {
  std::string yaml;      // a valid Millrace configuration file
  std::size_t rows = 0;  // number of rows in `models` and `providers`
  // "litellm.yaml:12: …", sorted by line: what was left out and what needs a check; then notes without a
  // line.
  std::vector<std::string> notes;
};

// `file_name` is used in places and in the first line. The result contains no secret of the file: a
// plain-text secret is replaced by a variable's name, and a note says so. kInvalidField: the text is not
// YAML, or nothing can be imported; the message lists every reason.
base::Result<LitellmImport> import_litellm(const std::string& file_name, const std::string& text,
                                           const std::map<std::string, std::string>& environment);

// The text of the configuration file: YAML, one value per line.
std::string imported_text(const std::string& file_name, const ImportedModels& models,
                          const ImportedRouting& routing);

}  // namespace millrace::app
