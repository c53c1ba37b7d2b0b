#pragma once
#include <string>
#include <string_view>

namespace millrace::schemas {

// A multipart/form-data body on its way out, part by part (RFC 7578), under a boundary that no data has.
class FormBody {
 public:
  // Appends to `body`, which is empty and outlives it.
  explicit FormBody(std::string& body);

  void field(std::string_view name, std::string_view value);
  // The file's bytes are to follow, appended to the body.
  void file(std::string_view name, std::string_view file_name);
  void end();
  std::string content_type() const { return "multipart/form-data; boundary=" + boundary_; }

 private:
  void begin(std::string_view name);

  std::string& body_;
  const std::string boundary_;
};

}  // namespace millrace::schemas
