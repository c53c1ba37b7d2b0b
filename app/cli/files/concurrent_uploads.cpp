#include "app/cli/files/concurrent_uploads.h"

#include <deque>
#include <future>
#include <mutex>

#include <sys/eventfd.h>

#include "app/cli/interrupt.h"
#include "platform/base/fd.h"

namespace millrace::cli {

// The uploads that have ended. The descriptor is readable while there are some.
struct ConcurrentUploads::Endings {
  std::mutex mutex;
  std::deque<std::pair<std::size_t, base::Result<net::HttpReply>>> replies;
  base::Fd ready{::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE | EFD_NONBLOCK)};
};

ConcurrentUploads::ConcurrentUploads(Client& client)
    : client_(client), endings_(std::make_shared<Endings>()) {}

ConcurrentUploads::~ConcurrentUploads() {
  for (const auto& [number, transfer] : running_) client_.http_.cancel(transfer);
  std::promise<void> cancelled;  // the loop reads no form after it has passed this point
  client_.loop_.post([&cancelled] { cancelled.set_value(); });
  cancelled.get_future().wait();
}

void ConcurrentUploads::start(std::size_t number, const UploadForm& form, const std::string& key) {
  net::HttpClient::Handlers handlers;
  handlers.on_done = [endings = endings_, number](base::Result<net::HttpReply> reply) {
    const std::lock_guard lock(endings->mutex);
    endings->replies.emplace_back(number, std::move(reply));
    ::eventfd_write(endings->ready.get(), 1);
  };
  running_[number] = client_.http_.start(
      client_.prepare_form(kUploadPath, form.descriptor(), form.content_type, {{"Idempotency-Key", key}}),
      std::move(handlers));
}

std::optional<std::pair<std::size_t, Client::Response>> ConcurrentUploads::next() {
  if (client_.interrupt_->wait_on_thread(endings_->ready.get())) return std::nullopt;
  eventfd_t one = 0;
  ::eventfd_read(endings_->ready.get(), &one);
  std::unique_lock lock(endings_->mutex);
  auto [number, reply] = std::move(endings_->replies.front());
  endings_->replies.pop_front();
  lock.unlock();
  running_.erase(number);
  return std::pair(number, client_.check_json(std::move(reply)));
}

}  // namespace millrace::cli
