#include "workers/chat/chat_runner.h"

#include <utility>

#include "workers/chat/chat_run.h"

namespace millrace::workers {
namespace {

class ChatPermit final : public storage::ClaimLanes::Permit {
 public:
  explicit ChatPermit(std::shared_ptr<inference::Lanes::CallPermit> place) : place_(std::move(place)) {}
  void leave() override { place_->leave(); }

 private:
  const std::shared_ptr<inference::Lanes::CallPermit> place_;
};

}  // namespace

storage::ClaimLanes::PermitPtr ChatLanes::take(const std::string& lane) {
  auto place = lanes_->take(lane);
  return place ? std::make_shared<ChatPermit>(std::move(place)) : nullptr;
}

std::shared_ptr<Run> ChatRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<ChatJobRun>(job, context, source_, std::move(ended));
  run->begin();
  return run;
}

std::shared_ptr<JobLanes> ChatRunner::lanes() { return std::make_shared<ChatLanes>(source_.chat.lanes()); }

}  // namespace millrace::workers
