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

base::Result<LocalSpeech::Stop> speak(engines::Speaker& speaker, schemas::SpeechRequest request,
                                      std::function<void(std::string)> on_audio,
                                      std::function<void(base::Status)> done) {
  auto ticket =
      speaker.speak(std::move(request), std::move(on_audio),
                    [done = std::move(done)](EngineResult end) { done(status_of(std::move(end))); });
  if (!ticket) return ticket.error();
  return LocalSpeech::Stop([ticket = *std::move(ticket)] { ticket.cancel(); });
}

}  // namespace

SpeechComponent::SpeechComponent(const Settings& settings, base::Metrics& metrics) {
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
}

LocalSpeech SpeechComponent::local() {
  LocalSpeech out;
  out.off = unavailable_reason_;
  if (!speaker_) return out;
  out.speak = [&speaker = *speaker_](schemas::SpeechRequest request, auto on_audio, auto done) {
    return speak(speaker, std::move(request), std::move(on_audio), std::move(done));
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
  options.local_model = [&models = *models_](const std::string& name) { return models.find(name); };
  return std::make_unique<workers::SttRunner>(
      transcriber_, options,
      std::make_unique<workers::ProviderTranscriber>(workers::ChatSource{inference.chat(), inference.loop()},
                                                     pool));
}

}  // namespace millrace::app
