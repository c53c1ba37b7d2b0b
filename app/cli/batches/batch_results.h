#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"
#include "app/cli/cut_off.h"
#include "app/cli/retry_window.h"

namespace millrace::cli {

class Interrupt;

// Where the lines of a batch's two files go.
struct ResultPaths {
  std::string output;  // "-": standard output
  std::string errors;  // for the lines of requests that failed; empty: into `output`, after the others
};

// Requests that failed with the same code.
struct FailedRequests {
  std::int64_t count = 0;
  std::string first;    // the custom_id of the first one
  std::string message;  // of the first one
};

struct BatchResults {
  std::map<std::string, FailedRequests> failures;  // by code; at most kFailureCodesMax, and "other"
  std::optional<ClientError> error;                // the files were not written
  std::optional<CutOff> cut_off;                   // standard output cannot be written
};

inline constexpr std::size_t kFailureCodesMax = 20;

// Downloads the files of a batch that has ended, as far as it has them, and writes them. Files are renamed
// when they are complete; a file is written also if it gets no line.
BatchResults write_results(Client& client, Interrupt& interrupt, RetryWindow& retries,
                           const nlohmann::json& batch, const ResultPaths& paths);

// "2 × model_not_found: The model … (line-3)", one line per code.
std::vector<std::string> failures_text(const std::map<std::string, FailedRequests>& failures);

}  // namespace millrace::cli
