#pragma once
#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bus/kafka/kafka_dispatch.h"
#include "platform/base/clock.h"
#include "tests/contract/kafka_outage.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/wait_until.h"

// Shared helpers of the tests of bus::Dispatch.
namespace millrace::bus {

inline constexpr schemas::Kind kKind = schemas::Kind::kOcr;

inline Token new_token(std::int64_t epoch = 1) {
  return {{kKind, base::Uuid::make(base::SystemClock().wall())}, epoch, "acme", "00-abc-def-01"};
}

// Records the tokens that a subscriber received, and settles them.
class Taker {
 public:
  Dispatch::OnToken hand_over() {
    return [this](Token token, std::function<void()> taken) {
      const std::lock_guard lock(mutex_);
      tokens_.push_back(std::move(token));
      taken_.push_back(std::move(taken));
      changed_.notify_all();
    };
  }
  bool got(std::size_t count, std::chrono::milliseconds deadline = support::kDeadline) {
    std::unique_lock lock(mutex_);
    return support::wait_until(
        changed_, lock, [&] { return tokens_.size() >= count; }, deadline);
  }
  bool got(const Token& token, std::chrono::milliseconds deadline = support::kDeadline) {
    std::unique_lock lock(mutex_);
    return support::wait_until(
        changed_, lock, [&] { return index_of(token).has_value(); }, deadline);
  }
  bool got_any(const std::vector<Token>& tokens, std::chrono::milliseconds deadline) {
    std::unique_lock lock(mutex_);
    const auto got_it = [&](const Token& token) { return index_of(token).has_value(); };
    return support::wait_until(
        changed_, lock, [&] { return std::ranges::any_of(tokens, got_it); }, deadline);
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return tokens_.size();
  }
  Token token(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return tokens_.at(index);
  }
  void decide(const Token& token) {
    const std::lock_guard lock(mutex_);
    taken_.at(index_of(token).value())();
  }
  void decide_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& taken : taken_) taken();
  }
  std::set<std::string> jobs() {
    const std::lock_guard lock(mutex_);
    std::set<std::string> jobs;
    for (const Token& token : tokens_) jobs.insert(token.job.str());
    return jobs;
  }

 private:
  std::optional<std::size_t> index_of(const Token& token) const {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].job == token.job && tokens_[i].epoch == token.epoch) return i;
    }
    return std::nullopt;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Token> tokens_;
  std::vector<std::function<void()>> taken_;
};

// Counts `done` calls.
class Deliveries {
 public:
  Dispatch::OnDelivered done() {
    return [this](const base::Status& outcome) {
      const std::lock_guard lock(mutex_);
      (outcome ? delivered_ : failed_) += 1;
      changed_.notify_all();
    };
  }
  bool ended(std::size_t count, std::chrono::milliseconds deadline = support::kDeadline) {
    std::unique_lock lock(mutex_);
    return support::wait_until(
        changed_, lock, [&] { return delivered_ + failed_ >= count; }, deadline);
  }
  std::size_t delivered() {
    const std::lock_guard lock(mutex_);
    return delivered_;
  }
  std::size_t failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t delivered_ = 0, failed_ = 0;
};

// A named implementation.
struct DispatchMaker {
  const char* name;
  std::unique_ptr<Dispatch> (*make)(const std::string& prefix);
};

inline void PrintTo(const DispatchMaker& row, std::ostream* out) { *out << row.name; }

inline std::unique_ptr<Dispatch> kafka_dispatch(const std::string& prefix) {
  return std::make_unique<KafkaDispatch>(
      KafkaDispatch::Options{.cluster = cluster_at(support::shared_kafka(), prefix)});
}

}  // namespace millrace::bus
