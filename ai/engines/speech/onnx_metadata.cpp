#include "ai/engines/speech/onnx_metadata.h"

#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>

namespace millrace::engines {
namespace {

// An ONNX file is a protocol buffer: a sequence of fields, each with a number and a wire type.
constexpr std::uint64_t kMetadataField = 14, kKeyField = 1, kValueField = 2;
constexpr std::uint64_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

class ProtoReader {
 public:
  explicit ProtoReader(std::istream& in, std::uint64_t size) : in_(in), left_(size) {}

  bool at_end() const { return left_ == 0; }
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && left_ > 0; shift += 7) {
      const int byte = in_.get();
      if (byte < 0) return std::nullopt;
      --left_;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  std::optional<std::string> bytes(std::uint64_t size, std::uint64_t max) {
    if (size > left_ || size > max) return std::nullopt;
    std::string out(size, '\0');
    if (!in_.read(out.data(), static_cast<std::streamsize>(size))) return std::nullopt;
    left_ -= size;
    return out;
  }
  bool skip(std::uint64_t size) {
    if (size > left_) return false;
    left_ -= size;
    return static_cast<bool>(in_.seekg(static_cast<std::streamoff>(size), std::ios::cur));
  }
  // Skips the value of a field.
  bool skip_value(std::uint64_t type) {
    if (type == kVarint) return varint().has_value();
    if (type == kFixed64) return skip(8);
    if (type == kFixed32) return skip(4);
    const auto size = type == kBytes ? varint() : std::nullopt;
    return size && skip(*size);
  }

 private:
  std::istream& in_;
  std::uint64_t left_;
};

// One entry: a message with a key and a value.
bool read_entry(ProtoReader& in, std::uint64_t size, OnnxMetadata& out, std::size_t& total) {
  const auto text = in.bytes(size, kOnnxMetadataBytesMax - total);
  if (!text) return false;
  total += text->size();
  std::string_view rest = *text;
  std::string pair[2];
  const auto length_at = [&rest]() -> std::optional<std::size_t> {
    std::size_t value = 0;
    for (unsigned shift = 0; shift < 28 && !rest.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= static_cast<std::size_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  };
  while (!rest.empty()) {
    const auto tag = length_at();
    const auto length = tag ? length_at() : std::nullopt;
    if (!length || (*tag & 7U) != kBytes || *length > rest.size()) return false;
    const std::size_t field = *tag >> 3U;
    if (field == kKeyField || field == kValueField) pair[field - 1] = rest.substr(0, *length);
    rest.remove_prefix(*length);
  }
  out[std::move(pair[0])] = std::move(pair[1]);
  return true;
}

bool read_fields(ProtoReader in, OnnxMetadata& out) {
  std::size_t total = 0;
  if (in.at_end()) return false;
  while (!in.at_end()) {
    const auto tag = in.varint();
    if (!tag) return false;
    const std::uint64_t field = *tag >> 3U, type = *tag & 7U;
    if (field != kMetadataField || type != kBytes) {
      if (!in.skip_value(type)) return false;
      continue;
    }
    const auto size = in.varint();
    if (!size || !read_entry(in, *size, out, total)) return false;
  }
  return true;
}

}  // namespace

base::Result<OnnxMetadata> onnx_metadata(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return base::error(base::Code::kInternal, "the model's file " + path + " cannot be read");
  const auto size = static_cast<std::uint64_t>(file.tellg());
  file.seekg(0);
  OnnxMetadata out;
  if (read_fields(ProtoReader(file, size), out)) return out;
  return base::error(base::Code::kInternal,
                     "the model's file " + path + " is not a whole ONNX file: download it again");
}

}  // namespace millrace::engines
