#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ai/inference/media/media.h"
#include "ai/inference/media/media_request.h"
#include "ai/providers/media.h"

namespace millrace::inference {

// Embeds the inputs of a request at one target, in as many calls as the target needs.
class EmbeddingMediaRequest final : public MediaRequest {
 public:
  using Done = std::function<void(base::Result<EmbeddingResult>)>;
  // A request within both bounds is written and read on the loop.
  static constexpr std::size_t kSmallInputs = 4;
  static constexpr std::int64_t kSmallTokens = 4'096;

  using RequestPtr = std::shared_ptr<const schemas::EmbeddingRequest>;
  EmbeddingMediaRequest(RequestPtr request, Done done)
      : request_(std::move(request)), done_(std::move(done)) {}

  Work work() const override { return Work::kEmbeddings; }
  const std::string& model() const override { return request_->model; }
  bool strict() const override { return request_->strict; }
  const schemas::AllowList& allowed_models() const override { return request_->allowed_models; }
  bool is_large() const override;
  std::optional<schemas::Refusal> refusal(const ModelRow& row) const override;

  std::size_t begin(const providers::Target& target) override;
  std::int64_t tokens(std::size_t part) const override;
  base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) override;
  base::Status read(const providers::Target& target, std::size_t part, const std::string& body) override;
  base::Status mock(const providers::Target& target, std::size_t part) override;
  Use used(std::size_t part) const override { return {usage(part)}; }
  Use most(const providers::Target& target, std::size_t part) const override;
  void on_end(base::Result<MediaResult> end) override;

 private:
  providers::EmbeddingPart slice(std::size_t part) const;
  schemas::ChatUsage usage(std::size_t part) const;

  const RequestPtr request_;
  Done done_;
  std::size_t batch_ = 1;  // inputs of one call
  std::vector<schemas::EmbeddingReply> replies_;
};

}  // namespace millrace::inference
