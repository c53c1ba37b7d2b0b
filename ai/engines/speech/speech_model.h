#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::engines {

// The families of models that the speech engine (sherpa-onnx) reads. Each has its own set of files.
// kSpeakers is the family of the files of stt.speakers, which do not transcribe.
enum class SpeechModelFamily : std::uint8_t {
  kMoonshine,
  kWhisper,
  kSenseVoice,
  kTransducer,
  kNemo,
  kSpeakers
};
// Those that transcribe.
inline constexpr std::array kSpeechModelFamilies{SpeechModelFamily::kMoonshine, SpeechModelFamily::kWhisper,
                                                 SpeechModelFamily::kSenseVoice,
                                                 SpeechModelFamily::kTransducer, SpeechModelFamily::kNemo};

// A local model for transcription: its files are in one folder, in sherpa-onnx's layout of the family.
struct SpeechModel {
  std::string name;  // as clients request it
  SpeechModelFamily family = SpeechModelFamily::kMoonshine;
  std::string path;                    // the folder
  std::vector<std::string> languages;  // ISO 639-1, such as "en"; the model knows no others
};

// What to find out about the speakers of a recording.
enum class SpeakerTask : std::uint8_t {
  kNone,
  kTellApart,  // who speaks when, in addition to the text
  kOneVoice,   // no text: the voice of the one person who speaks
};

// How to transcribe. Models that know one language, or find it out, ignore the first two.
struct SpeechTaskOptions {
  std::string language = {};  // ISO 639-1; empty: the model finds it out
  bool translate = false;     // into English
  SpeakerTask speakers = SpeakerTask::kNone;
  bool operator==(const SpeechTaskOptions&) const = default;
};

}  // namespace millrace::engines
