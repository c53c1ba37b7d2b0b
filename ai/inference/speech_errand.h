#pragma once
#include <memory>
#include <string>

#include "ai/inference/errand.h"
#include "ai/inference/media.h"

namespace millrace::inference {

// Speech of a provider's model: its bytes are passed on as they come.
class SpeechErrand final : public Errand {
 public:
  using RequestPtr = std::shared_ptr<const schemas::SpeechRequest>;
  // `model`: of the registry (speech_model). `sink` may be null where the request is checked only.
  SpeechErrand(std::string model, RequestPtr request, SpeechSink* sink)
      : model_(std::move(model)), request_(std::move(request)), sink_(sink) {}

  Work work() const override { return Work::kSpeech; }
  const std::string& model() const override { return model_; }
  bool strict() const override { return request_->strict; }
  bool is_large() const override { return false; }
  std::optional<schemas::Refusal> refusal(const ModelRow& row) const override;

  std::size_t begin(const providers::Target&) override { return 1; }
  std::int64_t tokens(std::size_t) const override { return schemas::estimated_tokens(request_->input); }
  base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) override;
  base::Status read(const providers::Target& target, std::size_t part, std::string body) override;
  base::Status mock(const providers::Target& target, std::size_t part) override;
  schemas::ChatUsage usage(std::size_t part) const override;

  bool sounds() const override { return true; }
  void going_out(const ChatHead& head) override { head_ = head; }
  base::Status on_bytes(const providers::Target& target, std::string_view bytes) override;
  bool has_begun() const override { return begun_; }
  bool is_ready() override { return sink_ == nullptr || sink_->is_ready(); }
  void go_silent() override { sink_ = nullptr; }
  void on_end(base::Result<MediaEnd> end) override;

 private:
  const std::string model_;
  const RequestPtr request_;
  SpeechSink* sink_;  // null after a cancel
  ChatHead head_;     // of the newest call
  bool begun_ = false;
};

}  // namespace millrace::inference
