#include "app/document_fetch.h"

#include <utility>

namespace millrace::app {
namespace {

base::Result<storage::Staged> stage(storage::Blobs& blobs, const std::string& bytes) {
  auto writer = blobs.begin(static_cast<std::int64_t>(bytes.size()));
  if (!writer) return writer.error();
  if (const base::Status written = (*writer)->append(bytes); !written) return written.error();
  return (*writer)->finish();
}

}  // namespace

std::function<void()> DocumentFetch::start(const std::string& url, Done done) {
  const auto running = fetch_.start(url, [this, done = std::move(done)](base::Result<std::string> fetched) {
    if (!fetched) return done(fetched.error());
    auto bytes = std::make_shared<std::string>(*std::move(fetched));
    const bool posted =
        pool_.post(base::Pool::Lane::kLarge, [this, bytes, done] { done(stage(blobs_, *bytes)); });
    if (posted) return;
    base::Error busy = base::error(base::Code::kOverloaded, "the gateway is busy storing documents");
    busy.retry_after = std::chrono::seconds(1);
    done(std::move(busy));
  });
  return [this, running] { fetch_.cancel(running); };
}

}  // namespace millrace::app
