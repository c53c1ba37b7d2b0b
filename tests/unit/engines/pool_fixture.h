#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <gtest/gtest.h>

#include "ai/engines/pool/engine_pool.h"
#include "tests/unit/engines/real_documents.h"

namespace millrace::engines::testing {

inline constexpr std::chrono::milliseconds kCallTimeLimit{300'000};

// Collects a call's callbacks and waits for its end.
struct CallProbe {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<EngineResult> end;

  std::function<void(EngineResult)> on_end() {
    return [this](EngineResult how) {
      const std::lock_guard lock(mutex);
      EXPECT_FALSE(end) << "the call ended twice";
      end = std::move(how);
      changed.notify_all();
    };
  }
  bool wait(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kCallTimeLimit, condition);
  }
  EngineResult wait_end() {
    EXPECT_TRUE(wait([this] { return end.has_value(); }));
    return end.value_or(EngineResult{});
  }
};

// The same for a call with one answer.
template <class Info>
struct InfoProbe : CallProbe {
  std::optional<base::Result<Info>> info;

  std::function<void(base::Result<Info>)> on_info() {
    return [this](base::Result<Info> result) {
      const std::lock_guard lock(mutex);
      info.emplace(std::move(result));
      changed.notify_all();
    };
  }
};

// A pool of real children.
class PoolTest : public ::testing::Test {
 protected:
  // The children are confined as far as this host supports it.
  void make_pool(EnginePool::Options options = engine_options()) {
    const auto probe = process::Jail::probe(spawner_, options.jail);
    ASSERT_TRUE(probe.usable) << probe.reason;
    make_pool(std::move(options), probe.confinement);
  }
  void make_pool(EnginePool::Options options, process::Confinement form) {
    auto pool = EnginePool::make(spawner_, std::move(options), form);
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = std::move(*pool);
  }

  process::Spawner spawner_;
  std::unique_ptr<EnginePool> pool_;
};

}  // namespace millrace::engines::testing
