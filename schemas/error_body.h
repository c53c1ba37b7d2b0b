#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::schemas {

// One thing that is wrong with a request, as a validation reply lists it (docs/design/http-contract.md §3).
struct FieldProblem {
  std::vector<std::string> loc;  // {"body", "document", "type"}, {"query", "limit"}
  std::string msg;
  std::string type;   // "missing", "string_type", …: one word for programs
  std::string input;  // the offending value as JSON, short ones only; empty: left out
  std::string ctx;    // a JSON object with the bound that was passed; empty: left out
};
using Problems = std::vector<FieldProblem>;

// Why a request is refused: `problems` is filled for kInvalidField only.
struct Refusal {
  base::Error error;
  Problems problems;
};
// kInvalidField from its problems (at least one): message and param are the first one's.
Refusal invalid(Problems problems);

// {"body", "messages", "0"} from 1: "messages.0".
std::string dotted(const std::vector<std::string>& loc, std::size_t from);

struct ErrorBody {
  std::string content_type;
  std::string body;
};

// The two error shapes of docs/design/http-contract.md §3, told apart by the path: machine endpoints
// (`/v1/machines` and below) answer {error_code, …} or problem+json, all others {"error": {message, type,
// param, code}}, with `detail` for validation. `path` as it was sent; empty: not understood.
ErrorBody error_body(std::string_view path, const base::Error& error, const Problems& problems = {});
// The same for a status that the front end answers by itself, before a code of ours is known.
ErrorBody error_body(std::string_view path, int status, std::string_view message);

}  // namespace millrace::schemas
