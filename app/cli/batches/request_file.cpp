#include "app/cli/batches/request_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>

#include "app/cli/files/file_upload.h"
#include "app/cli/json_cells.h"
#include "platform/base/crypto.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kRequestPieceBytes = std::size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kRequestBlanks = " \t\r";

// The first line that is not empty, gathered from the pieces of a file.
class FirstLine {
 public:
  void add(std::string_view piece) {
    while (!is_whole_ && !piece.empty()) {
      const std::size_t end = piece.find('\n');
      text_ += piece.substr(0, end);
      if (end == std::string_view::npos) return;
      piece.remove_prefix(end + 1);
      is_whole_ = text_.find_first_not_of(kRequestBlanks) != std::string::npos;
      if (!is_whole_) text_.clear();
    }
  }
  std::string_view text() const {
    std::string_view text(text_);
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    return text.find_first_not_of(kRequestBlanks) == std::string_view::npos ? std::string_view() : text;
  }

 private:
  std::string text_;
  bool is_whole_ = false;
};

base::Error unread_requests(const std::string& path) {
  return base::error(base::Code::kNotFound, path + ": " + std::strerror(errno));  // NOLINT
}

base::Result<base::Fd> nameless_file() {
  const TemporaryFile file(std::tmpfile());
  base::Fd out(file ? ::fcntl(fileno(file.get()), F_DUPFD_CLOEXEC, 0) : -1);
  if (out) return out;
  return base::error(base::Code::kInternal, std::string("no temporary file: ") + std::strerror(errno));
}

// Copies standard input to a file without a name.
base::Status copy_standard_input(RequestFile& file) {
  auto copy = nameless_file();
  if (!copy) return copy.error();
  file.copy = *std::move(copy);
  file.path = "/dev/fd/" + std::to_string(file.copy.get());
  std::ifstream in("/dev/stdin", std::ios::binary);
  std::ofstream out(file.path, std::ios::binary | std::ios::trunc);
  if (in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf();
  if (!out.flush())
    return base::error(base::Code::kInternal,
                       "no space for a copy of standard input in the folder of temporary files");
  return {};
}

}  // namespace

base::Result<RequestFile> read_request_file(const std::string& path) {
  const bool is_standard = path == "-";
  RequestFile file{.shown = is_standard ? "standard input" : path,
                   .path = path,
                   .name = is_standard ? "requests.jsonl" : path.substr(path.rfind('/') + 1),
                   .sha256 = {},
                   .endpoint = {}};
  if (is_standard) {
    if (const base::Status copied = copy_standard_input(file); !copied) return copied.error();
  }
  std::ifstream in(file.path, std::ios::binary);
  if (!in) return unread_requests(file.shown);
  base::Sha256 hash;
  FirstLine first;
  std::string piece(kRequestPieceBytes, '\0');
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto got = std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount()));
    hash.update(got);
    first.add(got);
  }
  if (in.bad()) return unread_requests(file.shown);
  file.sha256 = base::hex(hash.finish());
  if (first.text().empty()) return base::error(base::Code::kInvalidField, file.shown + " has no requests");
  const auto request = nlohmann::json::parse(first.text(), nullptr, false);
  if (request.is_object()) file.endpoint = text_at(request, "url");
  return file;
}

}  // namespace millrace::cli
