#include "app/document_fetch.h"

#include <utility>

#include "app/arrival.h"

namespace millrace::app {

std::function<void()> DocumentFetch::start(const std::string& url, Done done) {
  const auto arrival = std::make_shared<Arrival>(link_, pool_, blobs_, std::move(done));
  net::Receiver receiver;
  receiver.on_begin = [arrival](std::int64_t bytes) { arrival->begin(bytes); };
  receiver.is_ready = [arrival] { return arrival->has_room(); };
  receiver.on_data = [arrival](std::string_view bytes) { return arrival->take(bytes); };
  receiver.on_done = [arrival](base::Status how) { arrival->ended(std::move(how)); };
  const auto running = fetch_.start(url, std::move(receiver));
  link_.post([arrival, weak = std::weak_ptr(running)] {
    arrival->on_room([weak] {
      if (const auto fetch = weak.lock()) net::Fetch::resume(*fetch);
    });
  });
  return [this, running] { fetch_.cancel(running); };
}

}  // namespace millrace::app
