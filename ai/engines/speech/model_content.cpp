#include "ai/engines/speech/model_content.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "platform/base/fd.h"

namespace millrace::engines {
namespace {

namespace fs = std::filesystem;

base::Error bad_file(const std::string& path, const std::string& what) {
  return base::error(base::Code::kInternal, "the model's file " + path + " " + what);
}

base::Status check_ort(const std::string& path) {
  std::array<char, 8> head{};
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), head.size());
  if (in && std::string_view(head.data() + 4, 4) == "ORTM") return {};
  return bad_file(path, "is not a model in ORT format: fetch it again");
}

// Reads the fields of a protobuf message without their contents.
class FieldReader {
 public:
  FieldReader(std::ifstream& in, std::uint64_t size) : in_(in), size_(size) {}

  struct Field {
    std::uint64_t number = 0;
    std::uint64_t end = 0;  // may be behind the end of the file
  };
  // nullopt: what follows is no field.
  std::optional<Field> next() {
    const auto tag = number();
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    constexpr int kVarint = 0, k64Bits = 1, kBytes = 2, k32Bits = 5;
    std::uint64_t length = 0;
    switch (static_cast<int>(*tag & 7)) {
      case kVarint:
        if (!number()) return std::nullopt;
        break;
      case k64Bits:
        length = 8;
        break;
      case kBytes: {
        const auto declared = number();
        if (!declared || *declared > std::uint64_t{1} << 40) return std::nullopt;
        length = *declared;
        break;
      }
      case k32Bits:
        length = 4;
        break;
      default:
        return std::nullopt;
    }
    at_ += length;
    if (at_ < size_) in_.seekg(static_cast<std::streamoff>(at_));
    return Field{*tag >> 3, at_};
  }
  bool at_end() const { return at_ >= size_; }

 private:
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const int byte = in_.get();
      if (byte == std::ifstream::traits_type::eof()) return std::nullopt;
      ++at_;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  std::ifstream& in_;
  const std::uint64_t size_;
  std::uint64_t at_ = 0;
};

// An ONNX file is a protobuf message, ModelProto; its `graph` is the model.
base::Status check_onnx(const std::string& path, std::uint64_t size) {
  constexpr std::uint64_t kFieldsMax = 64, kGraph = 7;
  std::ifstream in(path, std::ios::binary);
  FieldReader fields(in, size);
  bool has_graph = false;
  while (!fields.at_end()) {
    const auto field = fields.next();
    if (!field || field->number > kFieldsMax) return bad_file(path, "is not a model in ONNX format");
    has_graph = has_graph || field->number == kGraph;
    if (field->end > size)
      return bad_file(path, "is cut off: it has " + std::to_string(size) + " of at least " +
                                std::to_string(field->end) + " bytes; fetch it again");
  }
  if (has_graph) return {};
  return bad_file(path, "is not a model in ONNX format: it has no graph");
}

// The number at the end of a line "token number"; a token that is a space is left out.
std::optional<std::size_t> token_number(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const auto last = line.find_last_not_of(kSpace);
  if (last == std::string_view::npos) return std::nullopt;
  line = line.substr(0, last + 1);
  const auto gap = line.find_last_of(kSpace);
  const std::string_view digits = gap == std::string_view::npos ? line : line.substr(gap + 1);
  std::size_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (gap == std::string_view::npos) return number;
  std::string_view token = line.substr(0, gap);
  token.remove_prefix(std::min(token.find_first_not_of(kSpace), token.size()));
  token = token.substr(0, token.find_last_not_of(kSpace) + 1);
  return token.find_first_of(kSpace) == std::string_view::npos ? std::optional(number) : std::nullopt;
}

base::Status check_tokens(const std::string& path, std::uint64_t size) {
  if (size > kTokensBytesMax) return bad_file(path, "has more than 64 MiB (kTokensBytesMax)");
  std::ifstream in(path);
  std::vector<bool> seen;
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);) {
    ++count;
    const auto number = token_number(line);
    if (!number || *number > size)
      return bad_file(path, "is damaged: line " + std::to_string(count) +
                                " is not a token and its number; fetch it again");
    if (*number >= seen.size()) seen.resize(*number + 1);
    seen[*number] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return {};
  return bad_file(path, "is damaged: no line has the number " + std::to_string(missing - seen.begin()) +
                            ", but one has " + std::to_string(seen.size() - 1) + "; fetch it again");
}

base::Result<std::uint64_t> size_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return bad_file(path, "is missing, or no file");
  const std::uint64_t size = fs::file_size(path, failed);
  if (failed || ::access(path.c_str(), R_OK) != 0)
    return bad_file(path, "cannot be read: give this user the right to");
  if (size == 0) return bad_file(path, "is empty");
  return size;
}

}  // namespace

base::Status check_model_file(std::string_view role, const std::string& path) {
  const auto size = size_of(path);
  if (!size) return size.error();
  if (role == "tokens") return check_tokens(path, *size);
  const std::string extension = fs::path(path).extension().string();
  if (extension == ".ort") return check_ort(path);
  if (extension == ".onnx") return check_onnx(path, *size);
  return {};
}

base::Status check_size(const std::string& path, const KnownContent& known) {
  const auto size = size_of(path);
  if (!size) return size.error();
  if (*size == known.bytes) return {};
  return bad_file(path, "has " + std::to_string(*size) + " bytes instead of " + std::to_string(known.bytes));
}

base::Status check_sum(int fd, const std::string& path, const KnownContent& known) {
  base::Sha256 sum;
  std::vector<char> piece(std::size_t{1} << 20);
  off_t at = 0;
  for (ssize_t count = 0; (count = ::pread(fd, piece.data(), piece.size(), at)) > 0; at += count)
    sum.update({piece.data(), static_cast<std::size_t>(count)});
  if (base::hex(sum.finish()) == known.sha256) return {};
  return bad_file(path, "is damaged: its SHA-256 is not that of the file that was fetched");
}

}  // namespace millrace::engines
