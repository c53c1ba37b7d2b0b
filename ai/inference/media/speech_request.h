#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "ai/inference/media/media.h"
#include "ai/inference/media/media_request.h"
#include "ai/inference/routing/charges.h"

namespace millrace::inference {

// Speech from a provider's model. Bytes are passed on as they arrive.
class SpeechMediaRequest final : public MediaRequest {
 public:
  using RequestPtr = std::shared_ptr<const schemas::SpeechRequest>;
  // `model`: the registry name (speech_model). `sink` may be null if the request is only checked.
  SpeechMediaRequest(std::string model, RequestPtr request, SpeechSink* sink)
      : model_(std::move(model)), request_(std::move(request)), sink_(sink) {}

  Work work() const override { return Work::kSpeech; }
  const std::string& model() const override { return model_; }
  bool strict() const override { return request_->strict; }
  const schemas::AllowList& allowed_models() const override { return request_->allowed_models; }
  bool is_large() const override { return false; }
  std::optional<schemas::Refusal> refusal(const ModelRow& row) const override;

  std::size_t begin(const providers::Target&) override { return 1; }
  std::int64_t tokens(std::size_t) const override { return schemas::estimated_tokens(request_->input); }
  base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) override;
  base::Status read(const providers::Target& target, std::size_t part, const std::string& body) override;
  base::Status mock(const providers::Target& target, std::size_t part) override;
  Use used(std::size_t part) const override;
  Use most(const providers::Target& target, std::size_t part) const override;

  bool streams_audio() const override { return true; }
  void on_sending(const ChatHead& head) override { head_ = head; }
  base::Status on_bytes(const providers::Target& target, std::string_view bytes) override;
  bool has_begun() const override { return begun_; }
  bool is_ready() override { return sink_ == nullptr || sink_->is_ready(); }
  void drop_sink() override { sink_ = nullptr; }
  void on_end(base::Result<MediaResult> end) override;

 private:
  const std::string model_;
  const RequestPtr request_;
  SpeechSink* sink_;  // null after a cancel
  ChatHead head_;     // of the newest call
  bool begun_ = false;
};

// REQUIRES: no model has this name. Returns kModelNotFound with the nearest name.
schemas::Refusal no_speech_model(const Registry& registry, const LocalSpeech& local, const std::string& name);
// What the configuration charges for speech by the local model.
schemas::NanoUsd local_cost(const Registry& registry, const LocalSpeech& local,
                            const schemas::SpeechRequest& request);
// What the local model does not accept, as in Media::check. Also works if this process has no engine.
std::optional<schemas::Refusal> local_refusal(const LocalSpeech& local,
                                              const schemas::SpeechRequest& request);

// One request that the local model answers. The engine produces audio as fast as it can. Bytes that the
// client has not read yet are buffered here (kSpeechBufferMax). It keeps itself alive until the engine has
// ended. Loop thread only.
class SpeechRun final : public ChatRun, public std::enable_shared_from_this<SpeechRun> {
 public:
  // `max`: what the configuration charges for it; `before_sending` may be null, and is not asked if that is
  // 0.
  SpeechRun(std::shared_ptr<ChatShared> shared, schemas::SpeechRequest request, schemas::NanoUsd max,
            BeforeSending before_sending, SpeechSink& sink);
  ~SpeechRun() override;

  void begin();  // no callback before it returns
  schemas::Charge charged() const override { return charges_.total(); }
  void cancel() override;
  void resume() override { flow(); }

 private:
  void ask();
  void start(bool go);
  void receive(std::string audio);
  void finish(base::Status status);
  void flow();
  void deliver_end(base::Status status);
  void overflow();
  void drop_waiting();

  const std::shared_ptr<ChatShared> shared_;
  schemas::SpeechRequest request_;  // moved away by `start`
  SpeechSink* sink_;                // null after a cancel, and after the end
  ChatHead head_;
  std::int64_t input_tokens_;
  const BeforeSending before_sending_;
  Charges charges_;
  Charges::Call cost_;
  LocalSpeech::Stop stop_;
  std::deque<std::string> waiting_;
  std::size_t held_ = 0;               // bytes in waiting_
  std::optional<base::Status> ended_;  // the end that the engine reported
  bool flowing_ = false;
};

}  // namespace millrace::inference
