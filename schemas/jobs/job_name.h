#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "schemas/jobs/job.h"

namespace millrace::schemas {

inline constexpr std::size_t kJobNameMax = 255;  // bytes

// True: jobs of the kind may have a name, that of their document or recording.
bool may_have_name(Kind kind);

// A job's display name: its document's or recording's name as the client sent it, cut between characters to
// at most kJobNameMax bytes. Empty: the client sent none. It is client input and may contain anything,
// including control characters. `spec`: as stored in the job's row.
std::string job_name(Kind kind, std::string spec);
// The same from the name that the client sent, in UTF-8.
std::string job_name(std::string_view given);

}  // namespace millrace::schemas
