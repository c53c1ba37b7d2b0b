#pragma once
#include <string>
#include <string_view>

namespace millrace::schemas {

// Builds a multipart/form-data body part by part (RFC 7578), with a boundary that does not occur in the data.
class FormBody {
 public:
  // Appends to `body`, which must be empty and outlive this object.
  explicit FormBody(std::string& body);

  void field(std::string_view name, std::string_view value);
  // Begins a file part; the caller then appends the file's bytes to the body.
  void file(std::string_view name, std::string_view file_name);
  void end();
  std::string content_type() const { return "multipart/form-data; boundary=" + boundary_; }

 private:
  void begin(std::string_view name);

  std::string& body_;
  const std::string boundary_;
};

}  // namespace millrace::schemas
