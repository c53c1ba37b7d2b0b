#include "workers/part_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "storage/job_intake.h"
#include "workers/guarded.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

constexpr std::size_t kPartsPerMove = 16;
constexpr std::chrono::milliseconds kStageAgain{500};  // the disk is full, or the pool

}  // namespace

void PartWriter::add(int index, std::string json) {
  if (json.size() > storage::kInlineMax) {
    ++staging_;
    return stage_large(index, std::move(json));
  }
  waiting_.push_back({.index = index, .payload = {std::move(json), nullptr}});
  write();
}

void PartWriter::stage_large(int index, std::string json) {
  auto text = std::make_shared<std::string>(std::move(json));
  const auto again = [self = shared_from_this(), index, text] {
    if (self->lost_) return;
    self->again_[index] = self->context_.loop().after(kStageAgain, [self, index, text] {
      if (!self->lost_) self->stage_large(index, std::move(*text));
    });
  };
  const bool posted =
      context_.pool().post(base::Pool::Lane::kLarge, [self = shared_from_this(), link = context_.link(),
                                                      &blobs = context_.store().blobs(), index, text, again] {
        auto staged = guarded("part", [&] { return stage_owed(blobs, *text); });
        link.post([self, index, again, staged = std::move(staged)] {
          if (!staged) return again();
          --self->staging_;
          self->waiting_.push_back({.index = index, .payload = {{}, *staged}});
          self->write();
        });
      });
  if (!posted) again();
}

void PartWriter::write() {
  if (writing_ || lost_ || waiting_.empty()) return settle();
  std::vector<storage::JobOutcomes::Part> batch;
  while (!waiting_.empty() && batch.size() < kPartsPerMove) {
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  writing_ = true;
  context_.write_parts(std::move(batch), [self = shared_from_this()](bool held) {
    self->writing_ = false;
    self->lost_ = self->lost_ || !held;
    self->write();
  });
}

void PartWriter::flush(std::function<void(bool held)> done) {
  flushed_ = std::move(done);
  settle();
}

void PartWriter::settle() {
  const bool settled = lost_ || (!writing_ && staging_ == 0 && waiting_.empty());
  if (settled && flushed_) std::exchange(flushed_, nullptr)(!lost_);
}

}  // namespace millrace::workers
