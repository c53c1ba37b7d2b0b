#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ai/engines/speech/speaker.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// What --once does with a recording, and --speak: here and now, without a gateway and without a jail. Exit
// codes as `once`.

// By its first bytes, and no document.
bool is_recording(const base::Fd& file);
int transcribe_once(base::Fd file, bool json);
int speak_once(const SpeechTask& task, const std::string& output);

// --speak, --voice, --format and --speed. nullopt: none of these; false: the value does not do.
std::optional<bool> read_speech_option(std::string_view name, std::string_view value, SpeechTask& task);

// Tells an error on stderr: 1.
int fail(const base::Error& error);

}  // namespace millrace::engines::host
