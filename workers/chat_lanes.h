#pragma once
#include <memory>

#include "ai/inference/lanes.h"
#include "workers/runner.h"

namespace millrace::workers {

// Claims of deferred completions as the limits of their models want them.
class ChatLanes final : public JobLanes {
 public:
  explicit ChatLanes(std::shared_ptr<inference::Lanes> lanes) : lanes_(std::move(lanes)) {}
  PlacePtr take(const std::string& lane) override;
  void on_room(std::function<void()> told) override { lanes_->on_room(std::move(told)); }
  bool some_are_full() override { return lanes_->some_are_full(); }

 private:
  const std::shared_ptr<inference::Lanes> lanes_;
};

}  // namespace millrace::workers
