#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/admission/byte_budget.h"
#include "api/call.h"
#include "api/context.h"
#include "api/headers.h"

namespace millrace::api {

inline constexpr std::size_t kPageBytesMax = std::size_t{4} << 20;

// Builds a page of a list: {items, next_cursor?}. Bytes beyond a small reply count against http.reply_budget,
// as for results. If the budget is exhausted or kPageBytesMax is reached, the page ends early and its cursor
// continues the list. Not thread-safe.
class Page {
 public:
  explicit Page(Context& context) : budget_(context.replies) {}

  // False: the page ends before this item. Never for the first item, unless the budget has no space for it.
  bool add(std::string_view item);
  std::size_t count() const { return count_; }
  // Sends the page; an empty `next_cursor` means that it is the last one. 503 if the budget had no space for
  // the first item.
  void send(Call& call, std::string_view next_cursor);

 private:
  bool reserve(std::size_t bytes);

  ByteBudget& budget_;
  std::vector<ByteBudget::Reservation> reservations_;
  std::size_t capacity_ = kSmallReply;
  std::string items_ = "[";
  std::size_t count_ = 0;
  bool refused_ = false;
};

// Sends at most the first `limit` of `rows`, newest first. Cursors are made from the member `id` of a row. If
// there are more than `limit` rows, another page follows.
template <class Row, class Show>
void send_list(Context& context, Call& call, const std::vector<Row>& rows, int limit, Show&& show) {
  Page page(context);
  const std::size_t most = std::min(rows.size(), static_cast<std::size_t>(limit));
  while (page.count() < most && page.add(show(rows[page.count()]))) {
  }
  const bool more = page.count() > 0 && page.count() < rows.size();
  page.send(call, more ? job_cursor(rows[page.count() - 1].id) : std::string());
}

}  // namespace millrace::api
