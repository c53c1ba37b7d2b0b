#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace millrace::api {

// Limits the bytes of one category in memory, over all connections and for each owner. The bytes of a request
// body are reserved as they arrive, those of a reply before it is loaded. Thread-safe. It must outlive its
// reservations.
class ByteBudget {
 public:
  // The bytes that one owner has reserved: a tenant, or an address without a valid key. Must outlive its
  // reservations.
  class Share {
   public:
    std::size_t used() const { return used_.load(std::memory_order_relaxed); }

   private:
    friend class ByteBudget;
    std::atomic<std::size_t> used_{0};
  };

  // `share_max`: of one owner.
  explicit ByteBudget(std::size_t max, std::size_t share_max = std::numeric_limits<std::size_t>::max())
      : max_(max), share_max_(std::min(max, share_max)) {}

  // Releases its bytes when it is destroyed.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          share_(std::exchange(other.share_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      shrink(0);
      budget_ = std::exchange(other.budget_, nullptr);
      share_ = std::exchange(other.share_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }
    ~Reservation() { shrink(0); }

    std::size_t bytes() const { return bytes_; }
    // Holds at least `bytes`. False: the budget or the owner's share would be exceeded; nothing changed.
    bool grow(std::size_t bytes) {
      if (bytes <= bytes_) return true;
      if (budget_ == nullptr || !budget_->add(bytes - bytes_, share_)) return false;
      bytes_ = bytes;
      return true;
    }
    // Keeps at most `bytes`.
    void shrink(std::size_t bytes) {
      if (bytes >= bytes_) return;
      budget_->remove(bytes_ - bytes, share_);
      bytes_ = bytes;
    }

   private:
    friend class ByteBudget;
    Reservation(ByteBudget* budget, Share* share) : budget_(budget), share_(share) {}
    ByteBudget* budget_ = nullptr;
    Share* share_ = nullptr;
    std::size_t bytes_ = 0;
  };

  // A reservation of no bytes yet. `share` null: without an owner.
  Reservation open(Share* share) { return {this, share}; }
  // nullopt: the maximum would be exceeded.
  std::optional<Reservation> take(std::size_t bytes) {
    Reservation all = open(nullptr);
    return all.grow(bytes) ? std::optional(std::move(all)) : std::nullopt;
  }
  // Whether the owner of `share` could reserve as many more bytes now.
  bool fits(std::size_t bytes, const Share* share) const {
    return is_within(bytes, used(), max_) &&
           (share == nullptr || is_within(bytes, share->used(), share_max_));
  }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  std::size_t max() const { return max_; }

 private:
  static bool is_within(std::size_t more, std::size_t used, std::size_t max) {
    return more <= max && used <= max - more;
  }
  // False: `max` would be exceeded; nothing changed.
  static bool add(std::atomic<std::size_t>& used, std::size_t bytes, std::size_t max) {
    if (is_within(bytes, used.fetch_add(bytes, std::memory_order_relaxed), max)) return true;
    used.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  bool add(std::size_t bytes, Share* share) {
    if (share != nullptr && !add(share->used_, bytes, share_max_)) return false;
    if (add(used_, bytes, max_)) return true;
    if (share != nullptr) share->used_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  void remove(std::size_t bytes, Share* share) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    if (share != nullptr) share->used_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  const std::size_t max_, share_max_;
  std::atomic<std::size_t> used_{0};
};

}  // namespace millrace::api
