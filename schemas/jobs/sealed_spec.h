#pragma once
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "schemas/jobs/job.h"

namespace millrace::schemas {

struct ChatRequest;

// Specs that may hold a client's secrets (the query of a signed URL, the token of an MCP server) are stored
// encrypted: a JSON object with the job's name, a zero byte, the output of base::seal.

// True: the request has a URL anywhere, or members whose meaning is not known.
// `spec`: its chat_spec.
bool may_hold_secrets(const ChatRequest& request, std::string_view spec);

// `key`: the 32 bytes of DATA/secret.key. Only the tenant is bound, not the job: a retry copies the spec.
std::string seal_spec(std::string_view key, std::string_view tenant, Kind kind, std::string spec);

// The spec in plain text; `stored` itself if it is not sealed. kInternal, permanent: another key sealed it.
base::Result<std::string> open_spec(std::string_view key, std::string_view tenant, std::string stored);

bool is_sealed(std::string_view stored);
// The member of the JSON object that has the job's name.
inline constexpr std::string_view kSealedName = "name";

}  // namespace millrace::schemas
