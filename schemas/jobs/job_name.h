#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "schemas/jobs/job.h"

namespace millrace::schemas {

inline constexpr std::size_t kJobNameMax = 255;  // bytes
// A name that is made of a text, not given by the client, is at most this long, in bytes.
inline constexpr std::size_t kTextNameMax = 80;

// True: jobs of the kind may have a name.
bool may_have_name(Kind kind);

// A job's display name. It is client input and may contain anything, including control characters. Empty:
// there is none.
// - OCR and transcription: the document's or recording's name as the client sent it, cut between characters
//   to at most kJobNameMax bytes.
// - Execution: the program and its arguments, separated by spaces.
// - Chat: the text of the last user message.
// The latter two have one space in the place of all white space. They are cut between words, if possible, to
// at most kTextNameMax bytes, followed by "…". Specs above kSharedParserMax have no name.
// `spec`: as stored in the job's row.
std::string job_name(Kind kind, std::string spec);
// The same for a document or recording, from the name that the client sent, in UTF-8.
std::string job_name(std::string_view given);

}  // namespace millrace::schemas
