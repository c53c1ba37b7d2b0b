#pragma once
#include <atomic>
#include <optional>
#include <string>

#include "platform/base/crypto.h"
#include "storage/blobs/blobs.h"

namespace millrace::storage::testing {

// A staged file that is not on a disk. Records what the store reported to it.
class FakeBlob : public StagedBlob {
 public:
  FakeBlob(const std::string& content, const std::string& suffix) {
    const std::string sha256 = base::hex(base::sha256(content));
    ref_ = {sha256, sha256.substr(0, 2) + "/" + sha256 + "-" + suffix,
            static_cast<std::int64_t>(content.size())};
  }
  const BlobRef& ref() const override { return ref_; }
  void set_referenced(bool is_referenced) override { referenced_ = is_referenced ? 1 : 0; }
  base::Result<OpenFile> open() const override { return base::error(base::Code::kNotFound, "no file"); }

  // Absent: nothing was reported; else whether a row references the file.
  std::optional<bool> referenced() const {
    const int referenced = referenced_;
    return referenced < 0 ? std::nullopt : std::optional(referenced == 1);
  }

 private:
  BlobRef ref_;
  std::atomic<int> referenced_ = -1;
};

}  // namespace millrace::storage::testing
