#pragma once
#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace millrace::api {

// Limits the bytes of one category in memory, over all connections. For request bodies the bytes are reserved
// when the head is read, before the body. For replies they are reserved before the reply is loaded.
// Thread-safe. It must outlive its reservations.
class ByteBudget {
 public:
  explicit ByteBudget(std::size_t max) : max_(max) {}

  // Releases its bytes when it is destroyed.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      shrink(0);
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }
    ~Reservation() { shrink(0); }
    // Keeps at most `bytes`.
    void shrink(std::size_t bytes) {
      if (bytes >= bytes_) return;
      budget_->used_.fetch_sub(bytes_ - bytes, std::memory_order_relaxed);
      bytes_ = bytes;
    }

   private:
    friend class ByteBudget;
    Reservation(ByteBudget* budget, std::size_t bytes) : budget_(budget), bytes_(bytes) {}
    ByteBudget* budget_ = nullptr;
    std::size_t bytes_ = 0;
  };

  // nullopt: the maximum would be exceeded.
  std::optional<Reservation> take(std::size_t bytes) {
    const std::size_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= max_) return Reservation(this, bytes);
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    return std::nullopt;
  }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  std::size_t max() const { return max_; }

 private:
  const std::size_t max_;
  std::atomic<std::size_t> used_{0};
};

}  // namespace millrace::api
