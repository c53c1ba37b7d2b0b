#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ai/providers/provider.h"
#include "schemas/media/audio_format.h"
#include "schemas/media/speakers.h"
#include "schemas/media/speech.h"
#include "schemas/media/transcript.h"

// Transcription by a provider's model, in OpenAI's format (…/audio/transcriptions, …/audio/translations).
// Pure functions, thread-safe.
namespace millrace::providers {

// The length of a recording is not known without decoding it.
inline constexpr double kRecordingSecondsMax = 4 * 3'600;

// A recording to send to a provider.
struct TranscriptionCall {
  std::string file_name;  // from the client; an extension of the format is appended if needed
  schemas::AudioFormat format = schemas::AudioFormat::kWav;
  std::uint64_t bytes_count = 0;
  double seconds_max = kRecordingSecondsMax;                   // its length, or a limit of it: for its price
  std::function<base::Status(std::string& out)> append_bytes;  // of the recording; blocks
  std::string language;                                        // empty: not given
  std::string prompt;
  std::optional<double> temperature;
  schemas::SpeakerParameters speakers;
  // As requested. Of a model that tells speakers apart, every format with times is requested with speakers.
  schemas::TranscriptFormat form = schemas::TranscriptFormat::kJson;
  bool translate = false;  // into English
  bool words = false;      // request timestamps of words, if the model has them (reported_times)
};

// The timestamps that the model returns with its text if they are requested.
struct ReportedTimes {
  bool segments = false, words = false;
};
// `language`: as in TranscriptionCall. Mistral's models return no timestamps if it is given.
ReportedTimes reported_times(const Target& target, std::string_view language);

// What the model has for speakers. Of OpenAI's own models this is known; of a server with a base_url of its
// own and of other providers it is what the API has, and only the provider knows whether the model has it
// too.
schemas::SpeakerSupport speaker_support(const Target& target);

// nullopt: the provider's API supports it. Otherwise kBadRequest. no_translation also returns it if the API
// only has transcriptions.
std::optional<base::Error> no_transcription(const Target& target);
std::optional<base::Error> no_translation(const Target& target);
// REQUIRES: both return nullopt for what `order` needs. Builds a multipart form with the file as its last
// part. Errors: those of `append_bytes`. Blocks as `append_bytes` does.
base::Result<WireRequest> transcription_request(const Target& target, const TranscriptionCall& call);
// kUpstream: `body` is not a reply. Fields that the reply does not contain stay empty. Invalid segments are
// left out.
base::Result<schemas::Transcript> transcription_reply(const Target& target, std::string_view body);

// Speech: which APIs support it, and the request in OpenAI's format ({base_url}/audio/speech). The reply is
// the audio data. Pure functions, thread-safe.

// nullopt: the provider's API supports it.
std::optional<base::Error> no_speech(const Target& target);
// REQUIRES: no_speech(target) is nullopt. Always requests raw bytes, whichever transport the client chose.
WireRequest speech_request(const Target& target, const schemas::SpeechRequest& request);

}  // namespace millrace::providers
