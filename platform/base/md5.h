#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace millrace::base {

// Incremental MD5, only for checksums that a client sends: it protects against errors, not against attacks.
// Not thread-safe.
class Md5 {
 public:
  Md5();
  ~Md5();
  Md5(const Md5&) = delete;
  Md5& operator=(const Md5&) = delete;
  void update(std::string_view bytes);
  // 32 lower-case hexadecimal digits. The object cannot be used afterwards.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace millrace::base
