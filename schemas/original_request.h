#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"
#include "schemas/jobs/job.h"
#include "schemas/json/json.h"

namespace millrace::schemas {

// A document or recording that was uploaded with a request.
struct OriginalFile {
  std::string name;        // as sent by the client; empty: none
  std::string media_type;  // detected by content; empty: an unknown type, or the file was deleted
};

// The request that created a job, rebuilt from its stored spec, so that a client can send it again.
struct OriginalRequest {
  std::string path;      // of the POST: "/v1/chat/completions"
  bool is_form = false;  // true: multipart/form-data, and `body` has the fields; false: `body` is the JSON
  Json body;             // in the current form of the API, even if an older form was sent
  // The members of `body` where something is missing: the bytes of a document, a file, a recording or a
  // standard input (deleted or not), an image without a stored copy, the values of an environment, the query,
  // fragment and user of a URL (they may be secrets), credentials of a tool, body members that are in no
  // field table.
  std::vector<std::string> left_out;
  std::optional<OriginalFile> file = std::nullopt;
};

// `spec`: as stored in the job's row. `has_input`: the uploaded bytes are still stored. `head`: their first
// kAudioHeadBytes, or all of them. kInternal: `spec` is not a spec of `kind`. REQUIRES: `kind` is not
// kMachine.
base::Result<OriginalRequest> original_request(Kind kind, std::string_view spec, bool has_input,
                                               std::string_view head = {});

// {job_id, kind, method, path, content_type, body, left_out, file?: {name?, media_type?}}
std::string to_json(const JobId& job, OriginalRequest original);

// An upper bound of the memory that `original_request` and `to_json` need for a spec of that size: two copies
// of its texts at a time, and the values of its tree.
std::size_t reply_bytes(std::size_t spec_bytes);

}  // namespace millrace::schemas
