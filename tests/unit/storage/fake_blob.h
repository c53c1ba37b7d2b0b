#pragma once
#include <atomic>
#include <optional>
#include <string>

#include "platform/base/crypto.h"
#include "storage/blobs.h"

namespace millrace::storage::testing {

// A staged file that was never on a disk: says what the store told it.
class FakeBlob : public StagedBlob {
 public:
  FakeBlob(const std::string& content, const std::string& suffix) {
    const std::string sha256 = base::hex(base::sha256(content));
    ref_ = {sha256, sha256.substr(0, 2) + "/" + sha256 + "-" + suffix,
            static_cast<std::int64_t>(content.size())};
  }
  const BlobRef& ref() const override { return ref_; }
  void adopted(bool file_is_named) override { told_ = file_is_named ? 1 : 0; }
  base::Result<OpenFile> open() const override { return base::error(base::Code::kNotFound, "no file"); }

  // Nothing yet, or whether a row names the file.
  std::optional<bool> told() const {
    const int told = told_;
    return told < 0 ? std::nullopt : std::optional(told == 1);
  }

 private:
  BlobRef ref_;
  std::atomic<int> told_ = -1;
};

}  // namespace millrace::storage::testing
