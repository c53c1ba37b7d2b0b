#include "app/components/audio_components.h"

#include <utility>

#include "platform/base/log.h"
#include "workers/speech/stt_run.h"

namespace millrace::app {
namespace {

using engines::EngineResult;
using inference::LocalSpeech;

engines::EnginePool::Options speech_options(const Settings& settings) {
  engines::EnginePool::Options options;
  options.children = static_cast<unsigned>(settings.speech_children);
  options.warm_children = 1;
  options.in_background = false;
  options.jail.unjailed = settings.ocr_unjailed;
  return options;
}

engines::EnginePool::Options voice_options(const Settings& settings, const VoiceModels& voices) {
  engines::EnginePool::Options options = speech_options(settings);
  options.warm_children = 0;  // a loaded voice takes memory
  options.idle_after = settings.stt_idle;
  options.jail.readable = voices.folders();
  options.jail.limits.memory_bytes = static_cast<std::uint64_t>(settings.speech_memory_bytes);
  return options;
}

base::Status status_of(EngineResult end) {
  switch (end.kind) {
    case EngineResult::Kind::kDone:
      return {};
    case EngineResult::Kind::kCrashed:
      return base::error(base::Code::kInternal, "the local engine failed on this text");
    case EngineResult::Kind::kCancelled:
      return base::error(base::Code::kJobCancelled, "cancelled");
    case EngineResult::Kind::kFailed:
      break;
  }
  return *std::move(end.error);
}

// The speakers of this process. `for_voices` is null if there are no Piper voices.
struct Speakers {
  engines::Speaker& flite;
  engines::Speaker* for_voices;
  const VoiceModels& voices;
};

base::Error unusable_voice(const std::string& model, const base::Error& why) {
  if (why.code == base::Code::kInvalidField) return why;
  base::log_warn("voice_unusable", {{"model", model}, {"reason", why.message}});
  return base::error(base::Code::kInternal,
                     "the model '" + model + "' cannot be used on this gateway; its log has the reason");
}

base::Result<LocalSpeech::Stop> speak(const Speakers& speakers, schemas::SpeechRequest request,
                                      std::function<void(std::string)> on_audio,
                                      std::function<void(base::Status)> done) {
  const std::string model = request.model;
  const bool is_voice = speakers.voices.listed().find(model) != nullptr;
  auto on_end = [done = std::move(done), model, is_voice](EngineResult end) {
    base::Status status = status_of(std::move(end));
    if (is_voice && !status && status.error().code == base::Code::kInternal)
      status = unusable_voice(model, status.error());
    done(std::move(status));
  };
  if (is_voice && speakers.for_voices == nullptr)
    return base::error(base::Code::kOverloaded,
                       "the voices of speech.models do not work on this host; "
                       "`millrace doctor` shows the reason");
  base::Result<engines::EngineCallHandle> ticket = engines::EngineCallHandle();
  if (is_voice) {
    auto voice = speakers.voices.find(model, request.voice);
    if (!voice) return unusable_voice(model, voice.error());
    ticket = speakers.for_voices->speak_with(*std::move(voice), std::move(request), std::move(on_audio),
                                             std::move(on_end));
  } else {
    ticket = speakers.flite.speak(std::move(request), std::move(on_audio), std::move(on_end));
  }
  if (!ticket) return ticket.error();
  return LocalSpeech::Stop([ticket = *std::move(ticket)] { ticket.cancel(); });
}

}  // namespace

SpeechComponent::SpeechComponent(const Settings& settings, base::Metrics& metrics) : voices_(settings) {
  if (settings.speech_children == 0) {
    unavailable_reason_ = "local speech is off (speech.children is 0)";
    return;
  }
  auto opened =
      EngineChildren::open(speech_options(settings), {"speech", "speech is not available"}, metrics);
  if (!opened) {
    base::log_warn("speech_disabled", {{"reason", opened.error().message}});
    unavailable_reason_ = "local speech does not work on this host; `millrace doctor` shows the reason";
    return;
  }
  children_ = *std::move(opened);
  speaker_ = std::make_unique<engines::Speaker>(children_->pool());
  if (!voices_.empty()) open_voices(settings, metrics);
}

void SpeechComponent::open_voices(const Settings& settings, base::Metrics& metrics) {
  auto opened = EngineChildren::open(voice_options(settings, voices_),
                                     {"voices", "the voices of speech.models are not available"}, metrics);
  if (!opened) return base::log_warn("voices_disabled", {{"reason", opened.error().message}});
  voice_children_ = *std::move(opened);
  voice_speaker_ = std::make_unique<engines::Speaker>(voice_children_->pool());
}

LocalSpeech SpeechComponent::local() {
  LocalSpeech out;
  out.off = unavailable_reason_;
  out.voices = voices_.listed();
  if (!speaker_) return out;
  const Speakers speakers{*speaker_, voice_speaker_.get(), voices_};
  out.speak = [speakers](schemas::SpeechRequest request, auto on_audio, auto done) {
    return speak(speakers, std::move(request), std::move(on_audio), std::move(done));
  };
  return out;
}

base::Result<std::unique_ptr<TranscriptionComponent>> TranscriptionComponent::open(const Settings& settings,
                                                                                   base::Metrics& metrics) {
  engines::EnginePool::Options options;
  options.children = static_cast<unsigned>(settings.slots.at(schemas::Kind::kStt) +
                                           settings.reserved_slots(schemas::Kind::kStt));
  options.idle_after = settings.stt_idle;
  options.limits.recording_max = settings.stt_duration_max;
  options.jail.unjailed = settings.ocr_unjailed;
  options.jail.limits.memory_bytes = static_cast<std::uint64_t>(settings.stt_memory_bytes);
  auto models = std::make_unique<SpeechModels>(settings);
  options.jail.readable = models->files();
  if (const base::Status usable = check_moonshine(settings); !usable)
    base::log_warn("speech_engine_missing",
                   {{"reason", usable.error().message}, {"used", schemas::kSphinxModel}});
  auto children = EngineChildren::open(std::move(options), {"stt", "cannot open recordings"}, metrics);
  if (!children) return children.error();
  return std::unique_ptr<TranscriptionComponent>(
      new TranscriptionComponent(settings, std::move(models), *std::move(children)));
}

std::unique_ptr<workers::Runner> TranscriptionComponent::make_runner(InferenceComponent& inference,
                                                                     base::Pool& pool) {
  workers::SttRunner::Options options;
  options.range_pieces = range_pieces_;
  options.engine_time = engine_time_;
  options.shares_min = slots_;
  options.second_price = [&chat = inference.chat()](std::string_view model) {
    return chat.registry()->local_price(model).audio_second.value_or(0);
  };
  options.local_model = [&models = *models_](const std::string& name, bool with_speakers) {
    return models.find(name, with_speakers);
  };
  return std::make_unique<workers::SttRunner>(
      transcriber_, options,
      std::make_unique<workers::ProviderTranscriber>(workers::ChatSource{inference.chat(), inference.loop()},
                                                     pool));
}

}  // namespace millrace::app
