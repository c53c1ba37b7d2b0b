#include "ai/engines/host/voice.h"

#include <string>
#include <vector>

#include <flite/flite.h>

#include "ai/engines/host/encoder.h"
#include "ai/engines/host/resample.h"
#include "ai/engines/host/spoken_text.h"

// Debian's headers do not declare these.
extern "C" {
cst_voice* register_cmu_us_slt(const char* folder);
cst_voice* register_cmu_us_rms(const char* folder);
cst_voice* register_cmu_us_awb(const char* folder);
cst_voice* register_cmu_us_kal16(const char* folder);
}

namespace millrace::engines::host {
namespace {

using base::Code;

// Signs and numbers become words: a text of them alone would speak for hours.
constexpr std::size_t kSpokenCharactersMax = 16'384;
constexpr int kChunkSamples = kVoiceRate / 10;  // that flite hands over at a time

// Made once and kept by flite itself.
cst_voice* voice_named(std::string_view name) {
  flite_init();
  if (name == "slt") return register_cmu_us_slt(nullptr);
  if (name == "rms") return register_cmu_us_rms(nullptr);
  if (name == "awb") return register_cmu_us_awb(nullptr);
  if (name == "kal16") return register_cmu_us_kal16(nullptr);
  return nullptr;
}

// From flite's samples to the encoder. Its status is that of the whole way.
class SoundWay {
 public:
  explicit SoundWay(Encoder& encoder) : encoder_(encoder) {}

  bool take(const cst_wave& wave, int start, int count) {
    if (wave.sample_rate != kVoiceRate) {
      status_ = base::error(Code::kInternal, "the voice speaks at an unknown rate");
    } else if (status_) {
      status_ = encoder_.write(
          resampler_.next({wave.samples + start, static_cast<std::size_t>(std::max(count, 0))}));
    }
    return status_.has_value();
  }
  base::Status finish() {
    if (status_) status_ = encoder_.write(resampler_.rest());
    if (status_) status_ = encoder_.finish();
    return status_;
  }
  bool works() const { return status_.has_value(); }

 private:
  Encoder& encoder_;
  Resampler resampler_;
  base::Status status_;
};

int on_chunk(const cst_wave* wave, int start, int count, int /*last*/, cst_audio_streaming_info* info) {
  auto& way = *static_cast<SoundWay*>(info->userdata);
  return way.take(*wave, start, count) ? CST_AUDIO_STREAM_CONT : CST_AUDIO_STREAM_STOP;
}

// The voice keeps what streams it until it gets another one.
void stream_to(cst_voice* voice, SoundWay& way) {
  cst_audio_streaming_info* info = new_audio_streaming_info();
  info->asc = on_chunk;
  info->min_buffsize = kChunkSamples;
  info->userdata = &way;
  feat_set(voice->features, "streaming_info", audio_streaming_info_val(info));
}

}  // namespace

base::Status say(const SpeechTask& task, const SpeechSink& sink) {
  cst_voice* voice = voice_named(task.voice);
  if (voice == nullptr) return base::error(Code::kInvalidField, "there is no such voice", "voice");
  const std::string spoken = plain_text(task.text);
  if (spoken.size() > kSpokenCharactersMax) {
    return base::error(Code::kInvalidField,
                       "spelt out, the input has more than " + std::to_string(kSpokenCharactersMax) +
                           " characters to speak: send it in parts",
                       "input");
  }
  const std::vector<std::string> sentences = sentences_of(spoken);
  if (sentences.empty()) {
    return base::error(Code::kInvalidField,
                       "the local voice speaks English: there is nothing that it can say", "input");
  }
  auto encoder = make_encoder(task.encoding, sink.audio);
  if (!encoder) return std::move(encoder.error());
  SoundWay way(**encoder);
  stream_to(voice, way);
  feat_set_float(voice->features, "duration_stretch", static_cast<float>(1 / task.speed));
  for (const std::string& sentence : sentences) {
    sink.sentence();
    if (cst_wave* wave = flite_text_to_wave(sentence.c_str(), voice)) delete_wave(wave);
    if (!way.works()) break;
  }
  return way.finish();
}

}  // namespace millrace::engines::host
