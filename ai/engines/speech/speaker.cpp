#include "ai/engines/speech/speaker.h"

#include <chrono>
#include <utility>

#include "ai/engines/pool/engine_call.h"

namespace millrace::engines {
namespace {

using base::Code;

class SpeakCall final : public EngineCall {
 public:
  SpeakCall(const EngineLimits& limits, SpeechTask task, std::function<void(std::string)> on_audio,
            std::function<void(EngineEnd)> done)
      : limits_(limits), task_(std::move(task)), on_audio_(std::move(on_audio)), done_(std::move(done)) {}

  bool ask(EngineChild& child) override {
    Request request;
    request.kind = Request::Kind::kSpeak;
    request.speech = task_;
    return child.send(request);
  }
  std::chrono::milliseconds patience() const override { return limits_.sentence_wall; }
  std::chrono::milliseconds wall() const override { return limits_.speech_wall; }
  Place place() const override { return {-1, task_.voice}; }
  std::optional<EngineEnd> handle(Event event) override {
    switch (event.kind) {
      case Event::Kind::kAudio:
        on_audio_(std::move(event.audio));
        return std::nullopt;
      case Event::Kind::kFailed:
        return failed(std::move(event.error));
      case Event::Kind::kDone:
        return ended(EngineEnd::Kind::kDone);
      default:
        return broken();
    }
  }
  // What was said until then is out: it cannot be begun again.
  std::optional<EngineEnd> stuck(Stuck why) override {
    if (why == Stuck::kByClock) {
      return failed(base::error(Code::kOverloaded, "the machine is too busy to speak"));
    }
    return failed(base::error(Code::kInvalidField, "the text takes too long to say", "input"));
  }
  void end(EngineEnd how) override { done_(std::move(how)); }

 private:
  const EngineLimits& limits_;
  const SpeechTask task_;
  std::function<void(std::string)> on_audio_;
  std::function<void(EngineEnd)> done_;
};

}  // namespace

base::Result<Ticket> Speaker::speak(schemas::SpeechRequest request, std::function<void(std::string)> on_audio,
                                    std::function<void(EngineEnd)> done) {
  const schemas::LocalVoice* voice = schemas::local_voice(request.voice);
  if (voice == nullptr) {
    return base::error(Code::kInvalidField, "there is no local voice of this name", "voice");
  }
  SpeechTask task{std::move(request.input), std::string(voice->voice), request.encoding, request.speed};
  return pool_.submit(
      std::make_shared<SpeakCall>(pool_.limits(), std::move(task), std::move(on_audio), std::move(done)));
}

}  // namespace millrace::engines
