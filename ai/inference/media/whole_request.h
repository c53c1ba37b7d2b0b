#pragma once
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ai/inference/media/media.h"
#include "ai/inference/media/media_request.h"

namespace millrace::inference {

// Sends a whole document or recording to one target in one call. `kAnswer`: the member of `End` that receives
// the answer.
template <class Order, class End, auto kAnswer>
class WholeMediaRequest : public MediaRequest {
 public:
  using Done = std::function<void(base::Result<End>)>;
  using Answer = std::remove_reference_t<decltype(std::declval<End&>().*kAnswer)>;

  WholeMediaRequest(std::string model, schemas::AllowList allowed, Order call, Done done)
      : call_(std::move(call)),
        model_(std::move(model)),
        allowed_(std::move(allowed)),
        done_(std::move(done)) {}

  const std::string& model() const final { return model_; }
  bool strict() const final { return false; }
  const schemas::AllowList& allowed_models() const final { return allowed_; }
  bool is_large() const final { return true; }
  std::size_t begin(const providers::Target&) final {
    answer_ = {};
    return 1;
  }
  std::int64_t tokens(std::size_t) const final { return 0; }
  base::Status read(const providers::Target& target, std::size_t, const std::string& body) final {
    auto answer = answer_in(target, body);
    if (!answer) return answer.error();
    answer_ = *std::move(answer);
    return {};
  }
  void on_end(base::Result<MediaResult> end) final {
    if (!end) return done_(std::move(end.error()));
    End result;
    static_cast<MediaResult&>(result) = *std::move(end);
    result.*kAnswer = std::move(answer_);
    done_(std::move(result));
  }

 protected:
  virtual base::Result<Answer> answer_in(const providers::Target& target, const std::string& body) const = 0;

  const Order call_;
  Answer answer_;

 private:
  const std::string model_;
  const schemas::AllowList allowed_;
  const Done done_;
};

// Reads the pages of a document.
class OcrMediaRequest final : public WholeMediaRequest<providers::OcrCall, OcrResult, &OcrResult::pages> {
 public:
  using WholeMediaRequest::WholeMediaRequest;

  Work work() const override { return Work::kOcr; }
  std::optional<schemas::Refusal> refusal(const ModelRow& row) const override;
  Use used(std::size_t) const override { return pages(); }
  Use most(const providers::Target&, std::size_t) const override { return pages(); }
  base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) override;
  base::Status mock(const providers::Target& target, std::size_t part) override;

 private:
  base::Result<Answer> answer_in(const providers::Target& target, const std::string& body) const override;
  Use pages() const;
};

// Transcribes a recording.
class TranscriptionMediaRequest final
    : public WholeMediaRequest<providers::TranscriptionCall, TranscriptionResult,
                               &TranscriptionResult::transcript> {
 public:
  using WholeMediaRequest::WholeMediaRequest;

  Work work() const override { return Work::kTranscription; }
  std::optional<schemas::Refusal> refusal(const ModelRow& row) const override;
  Use used(std::size_t part) const override;
  Use most(const providers::Target& target, std::size_t part) const override;
  base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) override;
  base::Status mock(const providers::Target& target, std::size_t part) override;

 private:
  base::Result<Answer> answer_in(const providers::Target& target, const std::string& body) const override;
};

}  // namespace millrace::inference
