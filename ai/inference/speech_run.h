#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "ai/inference/media.h"

namespace millrace::inference {

// REQUIRES: it is nobody's: kModelNotFound, with the nearest name.
schemas::Refusal no_speech_model(const Registry& registry, const std::string& name);
// What the local model does not take of a request, as Media::check; also where there is none here.
std::optional<schemas::Refusal> local_refusal(const LocalSpeech& local,
                                              const schemas::SpeechRequest& request);

// One request that the local model answers. The engine makes it as fast as it can; what the client has not
// taken waits here (kSpeechHeldMax). It keeps itself alive until the engine has ended. Loop thread only.
class SpeechRun final : public ChatRun, public std::enable_shared_from_this<SpeechRun> {
 public:
  SpeechRun(std::shared_ptr<ChatParts> parts, schemas::SpeechRequest request, SpeechSink& sink);
  ~SpeechRun() override;

  void begin();  // nothing is heard before it returns
  void cancel() override;
  void resume() override { flow(); }

 private:
  void start();
  void hear(std::string audio);
  void hear_end(base::Status status);
  void flow();
  void tell_end(base::Status status);
  void overflow();
  void drop_waiting();

  const std::shared_ptr<ChatParts> parts_;
  schemas::SpeechRequest request_;  // moved away by `start`
  SpeechSink* sink_;                // null after a cancel, and after the end
  ChatHead head_;
  std::int64_t input_tokens_;
  LocalSpeech::Stop stop_;
  std::deque<std::string> waiting_;
  std::size_t held_ = 0;               // bytes in it
  std::optional<base::Status> ended_;  // the engine's
  bool flowing_ = false;
};

}  // namespace millrace::inference
