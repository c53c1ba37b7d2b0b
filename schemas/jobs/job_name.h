#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "schemas/jobs/job.h"

namespace millrace::schemas {

inline constexpr std::size_t kJobNameMax = 255;  // bytes

// Jobs of the kind may have a name: that of their document or recording.
bool may_have_name(Kind kind);

// What a job is called where jobs are shown: its document's or recording's name as the client gave it, at
// most kJobNameMax bytes, cut between characters. Empty: it was given none. A client's text: there may be
// anything in it, control characters too. `spec`: as the job's row keeps it.
std::string job_name(Kind kind, std::string spec);
// The same of the name as it was given, in UTF-8.
std::string job_name(std::string_view given);

}  // namespace millrace::schemas
