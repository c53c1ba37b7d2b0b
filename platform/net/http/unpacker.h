#pragma once
#include <functional>
#include <memory>
#include <string_view>

namespace millrace::net {

// Decompresses gzip, or deflate in its zlib form, piece by piece. For one thread.
class Unpacker {
 public:
  // nullptr: the coding is not supported.
  static std::unique_ptr<Unpacker> of(std::string_view coding);
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  enum class State { kMore, kStopped, kBroken };
  // `sink` receives pieces of at most kPieceBytes. Returning false stops.
  State feed(std::string_view packed, const std::function<bool(std::string_view)>& sink);
  bool has_begun() const { return begun_; }
  bool is_whole() const { return whole_; }

 private:
  Unpacker();
  struct Stream;
  std::unique_ptr<Stream> stream_;
  bool begun_ = false, whole_ = false;
};

}  // namespace millrace::net
