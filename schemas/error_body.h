#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::schemas {

// One problem of a request, as a validation error lists it (docs/design/http-contract.md §3).
struct FieldProblem {
  std::vector<std::string> loc;  // {"body", "document", "type"}, {"query", "limit"}
  std::string msg;
  std::string type;   // "missing", "string_type", …: machine-readable
  std::string input;  // the invalid value as JSON, if it is short; empty: omitted
  std::string ctx;    // a JSON object with the limit that was exceeded; empty: omitted
};
using Problems = std::vector<FieldProblem>;

// Why a request is refused. `problems` is set for kInvalidField only.
struct Refusal {
  base::Error error;
  Problems problems;
};
// Creates a kInvalidField refusal from at least one problem; message and param are those of the first.
Refusal invalid(Problems problems);

// Joins `loc` with dots, starting at index `from`: {"body", "messages", "0"} from 1 gives "messages.0".
std::string dotted(const std::vector<std::string>& loc, std::size_t from);

struct ErrorBody {
  std::string content_type;
  std::string body;
};

// The error formats of docs/design/http-contract.md §3, chosen by the path. All have {"error": {message,
// type, param, code}}. Machine endpoints (`/v1/machines` and below) return it in {error_code, …} or
// problem+json. All others return `detail` with it for validation. `path`: as it was sent; empty: it could
// not be parsed.
ErrorBody error_body(std::string_view path, const base::Error& error, const Problems& problems = {});
// The same for a status that the front end sends before an error code is known.
ErrorBody error_body(std::string_view path, int status, std::string_view message);

}  // namespace millrace::schemas
