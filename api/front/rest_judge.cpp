#include "api/front/rest_judge.h"

#include <algorithm>

namespace millrace::front {

void RestJudge::turn(std::size_t events, Clock::duration rest) {
  const bool is_short = events <= kFew && rest < most_;
  short_rests_ = is_short ? std::min(short_rests_ + 1, kShortRests) : 0;
}

void RestJudge::was_away(Clock::time_point now, Clock::duration how_long) {
  if (how_long > kRobbed) left_until_ = now + kLeftToThem;
}

bool RestJudge::may_wait(Clock::time_point now, std::size_t under_way) const {
  return rests_are_short() && under_way <= kFew && now >= left_until_;
}

}  // namespace millrace::front
