#include "api/front/cork.h"

#include <utility>

#include "api/front/connection.h"

namespace millrace::front {
namespace {

thread_local Cork* current_cork = nullptr;

}  // namespace

Cork::Cork() { current_cork = this; }

Cork::~Cork() {
  current_cork = nullptr;
  for (const auto& connection : held_) connection->flush_held();
}

Cork* Cork::current() { return current_cork; }

void Cork::hold(std::shared_ptr<Connection> connection) { held_.push_back(std::move(connection)); }

}  // namespace millrace::front
