#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ai/engines/speech/speaker.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// Implementation of --once for recordings, and of --speak. Runs in this process, without a gateway and
// without a jail. Exit codes as `once`.

// By its first bytes: a known audio format and no document.
bool is_recording(const base::Fd& file);
// `model`: OnceOptions::model.
int transcribe_once(base::Fd file, const std::string& model, bool json);
int speak_once(const SpeechTask& task, const std::string& output);

// Parses --speak, --voice, --format and --speed. nullopt: another option; false: an invalid value.
std::optional<bool> read_speech_option(std::string_view name, std::string_view value, SpeechTask& task);

// Prints an error on stderr; returns 1.
int fail(const base::Error& error);

}  // namespace millrace::engines::host
