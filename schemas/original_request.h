#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "platform/base/result.h"
#include "schemas/jobs/job.h"

namespace millrace::schemas {

// A document or recording that was handed in with a request.
struct OriginalFile {
  std::string name;        // as its client told it; empty: it did not
  std::string media_type;  // by its bytes; empty: of none that we know, or not kept any more
};

// What a job was asked, as a request that asks for the same again: made from what is kept of it.
struct OriginalRequest {
  std::string path;      // of the POST: "/v1/chat/completions"
  bool is_form = false;  // multipart/form-data, of which `body` has the fields; else `body` is its JSON
  nlohmann::json body;   // in the present form of the API, whatever older one was sent
  // Where something is missing from `body`: the bytes of a document, a file, a recording or a standard input
  // (kept still or not), a picture of which no copy is kept, the values of an environment, the query,
  // fragment and user of a URL (they may be secrets), what a tool signs in with, members of the body that no
  // field table knows.
  std::vector<std::string> left_out;
  std::optional<OriginalFile> file = std::nullopt;
};

// `spec`: as the job's row keeps it. `has_input`: bytes that were handed in with it are kept still.
// `head`: how they begin, kAudioHeadBytes or all. kInternal: it is none of that kind. REQUIRES: `kind` is not
// kMachine.
base::Result<OriginalRequest> original_request(Kind kind, std::string_view spec, bool has_input,
                                               std::string_view head = {});

// {job_id, kind, method, path, content_type, body, left_out, file?: {name?, media_type?}}
std::string to_json(const JobId& job, OriginalRequest original);

// What `asked_request` and `to_json` need at most for a spec of so many bytes: two copies of its texts at
// once, and the values of its tree.
std::size_t reply_bytes(std::size_t spec_bytes);

}  // namespace millrace::schemas
