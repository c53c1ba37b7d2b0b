#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ai/inference/errand.h"
#include "ai/inference/media.h"

namespace millrace::inference {

// A document's pages, from one target in one call.
class OcrErrand final : public Errand {
 public:
  using Done = std::function<void(base::Result<OcrEnd>)>;
  OcrErrand(std::string model, providers::OcrOrder order, Done done)
      : model_(std::move(model)), order_(std::move(order)), done_(std::move(done)) {}

  Ability ability() const override { return Ability::kOcr; }
  const std::string& model() const override { return model_; }
  bool strict() const override { return false; }
  bool is_large() const override { return true; }
  std::optional<schemas::Refusal> refusal(const ModelRow& row) const override;

  std::size_t begin(const providers::Target& target) override;
  std::int64_t tokens(std::size_t) const override { return 0; }
  base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) override;
  base::Status read(const providers::Target& target, std::size_t part, std::string body) override;
  base::Status mock(const providers::Target& target, std::size_t part) override;
  schemas::ChatUsage usage(std::size_t) const override { return {}; }
  void on_end(base::Result<MediaEnd> end) override;

 private:
  const std::string model_;
  const providers::OcrOrder order_;
  const Done done_;
  std::vector<schemas::OcrPage> pages_;
};

}  // namespace millrace::inference
