#include "workers/chat_lanes.h"

#include <utility>

namespace millrace::workers {
namespace {

class ChatPlace final : public storage::ClaimLanes::Place {
 public:
  explicit ChatPlace(std::shared_ptr<inference::Lanes::Place> place) : place_(std::move(place)) {}
  void leave() override { place_->leave(); }

 private:
  const std::shared_ptr<inference::Lanes::Place> place_;
};

}  // namespace

storage::ClaimLanes::PlacePtr ChatLanes::take(const std::string& lane) {
  auto place = lanes_->take(lane);
  return place ? std::make_shared<ChatPlace>(std::move(place)) : nullptr;
}

}  // namespace millrace::workers
