#pragma once
#include <string>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::cli {

// The requests of a batch: a local file of JSON lines.
struct RequestFile {
  std::string shown;     // for people
  std::string path;      // of a file that can be read twice
  std::string name;      // without its folder
  std::string sha256;    // of its content, in hex
  std::string endpoint;  // `url` of its first request; empty: it has none
  base::Fd copy = {};    // of standard input
};

// Reads the file once. "-" is standard input, which is copied. kNotFound: it cannot be read. kInvalidField:
// it has no request.
base::Result<RequestFile> read_request_file(const std::string& path);

}  // namespace millrace::cli
