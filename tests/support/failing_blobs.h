#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "storage/store.h"

namespace millrace::support {

// What a test sets and counts.
struct BlobFaults {
  std::atomic<bool> refuses_reads{false}, refuses_writes{false};
  std::atomic<int> refused_reads{0}, refused_writes{0};
};

// Blobs on the disk that behave as those of an object store that does not answer.
class FailingBlobs final : public storage::Blobs {
 public:
  FailingBlobs(std::unique_ptr<storage::Blobs> disk, BlobFaults& faults)
      : disk_(std::move(disk)), faults_(faults) {}

  static storage::Store::OpenBlobs open_with(BlobFaults& faults) {
    return [&faults](const std::string& folder,
                     std::int64_t disk_free_min_bytes) -> base::Result<std::unique_ptr<storage::Blobs>> {
      auto disk = storage::open_file_blobs(folder, disk_free_min_bytes);
      if (!disk) return disk.error();
      return std::unique_ptr<storage::Blobs>(std::make_unique<FailingBlobs>(*std::move(disk), faults));
    };
  }

  base::Result<std::unique_ptr<storage::BlobWriter>> begin(std::int64_t expected_bytes) override {
    return writer(disk_->begin(expected_bytes));
  }
  base::Result<std::unique_ptr<storage::BlobWriter>> begin_reserved(std::int64_t expected_bytes) override {
    return writer(disk_->begin_reserved(expected_bytes));
  }
  base::Result<storage::OpenFile> open(const storage::BlobRef& ref) const override {
    if (faults_.refuses_reads) return unavailable(faults_.refused_reads);
    return disk_->open(ref);
  }
  base::Result<std::string> read(const storage::BlobRef& ref) const override {
    if (faults_.refuses_reads) return unavailable(faults_.refused_reads);
    return disk_->read(ref);
  }
  void unlink(const std::string& path) override { disk_->unlink(path); }
  int collect_orphans(std::int64_t now_ms, std::int64_t age_ms, int limit, IsReferenced is_referenced,
                      void* context) override {
    return disk_->collect_orphans(now_ms, age_ms, limit, is_referenced, context);
  }

 private:
  class Writer final : public storage::BlobWriter {
   public:
    Writer(std::unique_ptr<storage::BlobWriter> file, BlobFaults& faults)
        : file_(std::move(file)), faults_(faults) {}
    base::Status append(std::string_view bytes) override { return file_->append(bytes); }
    std::int64_t bytes() const override { return file_->bytes(); }
    base::Result<storage::Staged> finish() override {
      was_refused_ = faults_.refuses_writes;
      if (was_refused_) return unavailable(faults_.refused_writes);
      return file_->finish();
    }
    bool may_finish_again() const override { return was_refused_; }

   private:
    const std::unique_ptr<storage::BlobWriter> file_;
    BlobFaults& faults_;
    bool was_refused_ = false;
  };

  static base::Error unavailable(std::atomic<int>& count) {
    ++count;
    return base::error(base::Code::kOverloaded, "the object store does not answer");
  }
  base::Result<std::unique_ptr<storage::BlobWriter>> writer(
      base::Result<std::unique_ptr<storage::BlobWriter>> file) {
    if (!file) return file.error();
    return std::unique_ptr<storage::BlobWriter>(std::make_unique<Writer>(*std::move(file), faults_));
  }

  const std::unique_ptr<storage::Blobs> disk_;
  BlobFaults& faults_;
};

}  // namespace millrace::support
