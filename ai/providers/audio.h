#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ai/providers/provider.h"
#include "schemas/media/audio_format.h"
#include "schemas/media/speech.h"
#include "schemas/media/transcript.h"

// Recordings that a provider's model hears, in OpenAI's form (…/audio/transcriptions, …/audio/translations).
// Pure functions, thread-safe.
namespace millrace::providers {

// A recording on its way to a provider.
struct TranscriptionCall {
  std::string file_name;  // as the client named it; its ending is made one of the format's
  schemas::AudioFormat format = schemas::AudioFormat::kWav;
  std::uint64_t bytes_count = 0;
  std::function<base::Status(std::string& out)> append_bytes;  // of the recording; blocks
  std::string language;                                        // empty: not said
  std::string prompt;
  std::optional<double> temperature;
  bool translate = false;  // into English
  bool words = false;      // the times of single words, where the model tells them (told_times)
};

// The times that the model tells beside its text, where it is asked for them.
struct ReportedTimes {
  bool segments = false, words = false;
};
// `language`: as the order has it; Mistral's models tell no times where it is said.
ReportedTimes reported_times(const Target& target, std::string_view language);

// nullopt: its API has it. kBadRequest else, for a translation also where it only has transcriptions.
std::optional<base::Error> no_transcription(const Target& target);
std::optional<base::Error> no_translation(const Target& target);
// REQUIRES: neither of them. A form with the file at its end. Errors: those of `append_bytes`. Blocks as it
// does.
base::Result<WireRequest> transcription_request(const Target& target, const TranscriptionCall& order);
// kUpstream for what is no reply. What the reply does not tell is empty; segments that are none of the
// protocol are left out.
base::Result<schemas::Transcript> transcription_reply(const Target& target, std::string_view body);

// Speech: whose API has it, and its request in OpenAI's form ({base_url}/audio/speech). The reply is the
// audio itself. Pure functions, thread-safe.

// nullopt: it has it.
std::optional<base::Error> no_speech(const Target& target);
// REQUIRES: no_speech(target) is nullopt. The bytes are asked for whatever the client wants them in.
WireRequest speech_request(const Target& target, const schemas::SpeechRequest& request);

}  // namespace millrace::providers
