#pragma once
#include <memory>

#include <gtest/gtest.h>

#include "tests/contract/postgres_server.h"
#include "tests/unit/storage/job_store.h"

// Contract of every store behind the role headers: the delivery rules that a store enforces, with their
// numbers.
namespace millrace::storage::testing {

using base::Code;
using schemas::is_terminal;
using schemas::JobId;

struct StoreKind {
  const char* name;
  OpenStore open;
};

class Delivery : public ::testing::TestWithParam<StoreKind> {
 protected:
  JobStore& fresh(bool outbox = false) {
    store_system_.reset();
    store_system_ = std::make_unique<JobStore>(outbox, GetParam().open);
    return *store_system_;
  }

 private:
  std::unique_ptr<JobStore> store_system_;
};

// All store implementations.
inline const StoreKind kStores[] = {{"sqlite", &Store::open}, {"postgresql", &open_postgres}};

inline RetryPlan plan(std::chrono::milliseconds delay = 0ms) {
  RetryPlan p;
  p.delay = delay;
  p.error = {Code::kUpstream, "try again"};
  return p;
}
inline RetryPlan crash_plan() {
  auto p = plan();
  p.crash = true;
  return p;
}
inline RetryPlan loss_plan() {
  auto p = plan();
  p.loss = true;
  return p;
}

}  // namespace millrace::storage::testing
