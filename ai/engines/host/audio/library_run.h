#pragma once
#include <string_view>

#include "ai/engines/host/tool.h"
#include "platform/base/result.h"

// What a copy of this process that runs the speech library (SpeechLibrary::in_copy) writes, and why it ended.
namespace millrace::engines::host {

// Stops at an error.
void write_all(int to, std::string_view bytes);

// `error` with the library's own messages as `details`.
base::Error with_reason(base::Error error, const CopyRun& run);

// The library has reported an exception, which it catches.
bool has_failed(const CopyRun& run);

// The error of a run that did not do its work: kOutOfMemory if RLIMIT_DATA is the reason, otherwise `error`.
base::Error why_it_ended(const CopyRun& run, base::Error error);

}  // namespace millrace::engines::host
