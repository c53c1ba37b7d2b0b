#include "api/routing/page.h"

#include <algorithm>
#include <memory>

#include "schemas/json/json_text.h"

namespace millrace::api {
namespace {

constexpr std::size_t kReserveStep = std::size_t{256} << 10;

}  // namespace

bool Page::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return true;
  const std::size_t step = std::max(kReserveStep, bytes - capacity_);
  auto reservation = budget_.take(step);
  refused_ = !reservation;
  if (!reservation) return false;
  reservations_.push_back(std::move(*reservation));
  capacity_ += step;
  return true;
}

bool Page::add(std::string_view item) {
  const std::size_t bytes = items_.size() + item.size() + 1;
  if (count_ > 0 && bytes > kPageBytesMax) return false;
  if (!reserve(bytes)) return false;
  items_.append(count_ > 0 ? "," : "").append(item);
  ++count_;
  return true;
}

void Page::send(Call& call, std::string_view next_cursor) {
  if (refused_ && count_ == 0) return call.fail(reply_budget_exhausted());
  items_ += ']';
  schemas::JsonObject out(items_.size() + next_cursor.size() + 64);
  out.raw("items", items_);
  if (!next_cursor.empty()) out.member("next_cursor", next_cursor);
  front::Reply reply = json_reply(200, out.finish());
  if (!reservations_.empty())
    reply.reservation = std::make_shared<std::vector<ByteBudget::Reservation>>(std::move(reservations_));
  call.reply(std::move(reply));
}

}  // namespace millrace::api
