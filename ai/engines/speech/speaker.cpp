#include "ai/engines/speech/speaker.h"

#include <chrono>
#include <utility>

#include "ai/engines/pool/engine_call.h"

namespace millrace::engines {
namespace {

using base::Code;

class SpeechCall final : public EngineCall {
 public:
  SpeechCall(std::string owner, const EngineLimits& limits, SpeechTask task, LoadableModelPtr model,
             std::function<void(std::string)> on_audio, std::function<void(EngineResult)> done)
      : EngineCall(std::move(owner)),
        limits_(limits),
        task_(std::move(task)),
        model_(std::move(model)),
        on_audio_(std::move(on_audio)),
        done_(std::move(done)) {}

  bool send_request(EngineChild& child) override {
    Request request;
    request.kind = Request::Kind::kSpeak;
    request.speech = task_;
    if (model_ && !child.open_model(model_)) return false;
    return child.send(request);
  }
  std::chrono::milliseconds time_limit() const override {
    return task_.with_model ? limits_.voice_sentence_wall : limits_.sentence_wall;
  }
  std::chrono::milliseconds wall() const override { return limits_.speech_wall; }
  Place place() const override {
    return {-1, task_.with_model ? std::string_view("a Piper voice") : task_.voice};
  }
  std::optional<EngineResult> handle(Event event) override {
    switch (event.kind) {
      case Event::Kind::kAudio:
        on_audio_(std::move(event.audio));
        return std::nullopt;
      case Event::Kind::kFailed:
        return failed(std::move(event.error));
      case Event::Kind::kDone:
        return ended(EngineResult::Kind::kDone);
      default:
        return broken();
    }
  }
  // The audio so far has already been sent, so the call cannot start over.
  std::optional<EngineResult> on_limit_hit(LimitHit why) override {
    if (why == LimitHit::kByClock) {
      return failed(base::error(Code::kOverloaded,
                                "the speech was not synthesised in time: the machine is busy; retry later"));
    }
    return failed(
        base::error(Code::kInvalidField, "the text takes too long to synthesise: send it in parts", "input"));
  }
  void end(EngineResult how) override { done_(std::move(how)); }

 private:
  const EngineLimits& limits_;
  const SpeechTask task_;
  const LoadableModelPtr model_;  // null: flite
  std::function<void(std::string)> on_audio_;
  std::function<void(EngineResult)> done_;
};

}  // namespace

base::Result<EngineCallHandle> Speaker::speak(schemas::SpeechRequest request,
                                              std::function<void(std::string)> on_audio,
                                              std::function<void(EngineResult)> done) {
  const schemas::LocalVoice* voice = schemas::local_voice(request.voice);
  if (voice == nullptr) {
    return base::error(Code::kInvalidField, "unknown local voice", "voice");
  }
  SpeechTask task{.text = std::move(request.input),
                  .voice = std::string(voice->voice),
                  .encoding = request.encoding,
                  .speed = request.speed};
  return pool_.submit(std::make_shared<SpeechCall>(std::move(request.tenant), pool_.limits(), std::move(task),
                                                   nullptr, std::move(on_audio), std::move(done)));
}

base::Result<EngineCallHandle> Speaker::speak_with(VoiceChoice voice, schemas::SpeechRequest request,
                                                   std::function<void(std::string)> on_audio,
                                                   std::function<void(EngineResult)> done) {
  SpeechTask task{.text = std::move(request.input),
                  .voice = {},
                  .encoding = request.encoding,
                  .speed = request.speed,
                  .with_model = true,
                  .speaker = voice.speaker,
                  .is_english = voice.is_english};
  return pool_.submit(std::make_shared<SpeechCall>(std::move(request.tenant), pool_.limits(), std::move(task),
                                                   std::move(voice.model), std::move(on_audio),
                                                   std::move(done)));
}

}  // namespace millrace::engines
