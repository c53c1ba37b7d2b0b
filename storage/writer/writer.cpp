#include "storage/writer/writer.h"

#include <future>
#include <memory>
#include <utility>

namespace millrace::storage {

base::Status write_and_wait(Writer& writer, Writer::Operation operation) {
  auto promise = std::make_shared<std::promise<base::Status>>();
  auto done = promise->get_future();
  writer.submit(Writer::Priority::kInteractive, 0, std::move(operation),
                [promise](const base::Status& status) { promise->set_value(status); });
  return done.get();
}

}  // namespace millrace::storage
