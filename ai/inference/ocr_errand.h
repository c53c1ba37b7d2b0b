#pragma once
#include <string>
#include <vector>

#include "ai/inference/whole_errand.h"

namespace millrace::inference {

// A document's pages.
class OcrErrand final : public WholeErrand<providers::OcrOrder, OcrEnd, &OcrEnd::pages> {
 public:
  using WholeErrand::WholeErrand;

  Work work() const override { return Work::kOcr; }
  std::optional<schemas::Refusal> refusal(const ModelRow& row) const override;
  base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) override;
  base::Status mock(const providers::Target& target, std::size_t part) override;

 private:
  base::Result<Answer> answer_in(const providers::Target& target, const std::string& body) const override;
};

}  // namespace millrace::inference
