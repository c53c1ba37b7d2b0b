#include "app/cli/files/files_command.h"

#include <array>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/cut_off.h"
#include "app/cli/files/file_upload.h"
#include "app/cli/files/upload_in_parts.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/partial_file.h"
#include "platform/base/bytes.h"
#include "platform/base/clock.h"
#include "schemas/files/multipart_upload.h"

namespace millrace::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kStandard = "-";
constexpr std::size_t kPageRows = 1'000;
constexpr std::array<std::size_t, 5> kFileColumns{41, 8, 13, 20, 20};

std::string file_line(std::array<std::string, kFileColumns.size()> cells, const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += padded(std::move(cells.at(i)), kFileColumns.at(i)) + "  ";
  return out + name;
}

std::string unix_time(const json& of, const char* key) {
  const auto at = of.find(key);
  if (at == of.end() || !at->is_number_integer()) return "-";
  const auto time = base::wall_from(at->get<std::int64_t>() * 1000);
  return base::rfc3339(time).substr(0, sizeof "2026-05-04T08:30:00" - 1) + "Z";
}

std::string file_row(const json& file) {
  return file_line(
      {text_at(file, "id"), base::short_bytes(file.value("bytes", std::int64_t{0})),
       or_dash(text_at(file, "purpose")), unix_time(file, "created_at"), unix_time(file, "expires_at")},
      or_dash(text_at(file, "filename")));
}

std::string uploaded_name(const std::string& path) {
  return path == kStandard ? "stdin" : path.substr(path.rfind('/') + 1);
}

// Prints the id of a new file, or with --json the file.
int print_uploaded(const ClientOptions& options, const std::string& path, const json& file) {
  return print_made((options.json ? file.dump() : text_at(file, "id")) + '\n',
                    path + " is stored as " + text_at(file, "id"));
}

int put_small(Client& client, const FilesPutRequest& request, const std::string& path,
              const UploadSource& source) {
  const auto form = make_upload_form(source, {.path = path,
                                              .name = uploaded_name(path),
                                              .purpose = request.purpose,
                                              .expire_hours = request.expire_hours});
  if (!form) return fail(form.error().message);
  const auto answer = send_upload(client, *form);
  if (!answer.ok) return fail(answer.error);
  return print_uploaded(client.options(), path, *answer.json);
}

int put_large(const ClientOptions& options, const FilesPutRequest& request, const std::string& path,
              const UploadSource& source) {
  Interrupt interrupt;  // so that Ctrl-C cancels the upload
  Client client(options, &interrupt);
  const LargeFile file{
      .name = uploaded_name(path), .purpose = request.purpose, .expire_hours = request.expire_hours};
  const auto answer = upload_in_parts(client, interrupt, source, file);
  if (!answer.ok) return fail(answer.error);
  return print_uploaded(client.options(), path, answer.json->value("file", json::object()));
}

// Calls `act` for each name; returns the first failure.
template <class Act>
int each_file(const std::vector<std::string>& names, const Act& act) {
  int first_failure = kOk;
  for (const std::string& name : names) {
    const int code = act(name);
    if (first_failure == kOk) first_failure = code;
    if (code == kInterrupted || code == kNoConnection) break;
  }
  return first_failure;
}

std::string path_of_file(const std::string& file) { return "/v1/files/" + percent_encoded(file); }

int print_content(Client& client, const std::string& path) {
  std::optional<CutOff> cut_off;
  const auto answer = client.download(path, [&](std::string_view bytes) {
    cut_off = print_whole(bytes);
    return !cut_off;
  });
  if (cut_off) return fail_cut_off(*cut_off);
  return answer.ok ? kOk : fail(answer.error);
}

}  // namespace

int files_ls(const std::string& purpose, ClientOptions options) {
  Client client(std::move(options));
  if (!client.options().json)
    std::cout << file_line({"ID", "SIZE", "PURPOSE", "UPLOADED", "EXPIRES"}, "NAME") << '\n';
  for (std::string after; true;) {
    std::string path = "/v1/files?limit=" + std::to_string(kPageRows);
    if (!purpose.empty()) path += "&purpose=" + percent_encoded(purpose);
    if (!after.empty()) path += "&after=" + percent_encoded(after);
    const auto answer = client.request("GET", path);
    if (!answer.ok) return fail(answer.error);
    for (const json& file : answer.json->value("data", json::array()))
      std::cout << (client.options().json ? file.dump() : file_row(file)) << '\n';
    after = text_at(*answer.json, "last_id");
    if (after.empty() || !answer.json->value("has_more", false)) return finish_output();
  }
}

int files_put(const FilesPutRequest& request, const ClientOptions& options) {
  std::optional<Client> small;
  return each_file(request.paths, [&](const std::string& path) {
    const auto source = UploadSource::open(path);
    if (!source) return fail(source.error().message);
    if (source->bytes() > schemas::kUploadPartBytesMax) {
      small.reset();  // an Interrupt begins before other threads
      return put_large(options, request, path, *source);
    }
    if (!small) small.emplace(options);
    return put_small(*small, request, path, *source);
  });
}

int files_get(const FilesGetRequest& request, ClientOptions options) {
  Client client(std::move(options));
  const std::string path = path_of_file(request.file);
  if (request.output == kStandard) return print_content(client, path + "/content");
  std::string output = request.output;
  if (output.empty()) {
    const auto about = client.request("GET", path);
    if (!about.ok) return fail(about.error);
    output = text_at(*about.json, "filename");
    std::error_code unknown;
    const bool is_taken = std::filesystem::exists(output, unknown);
    if (is_taken || output.starts_with('.') || !path_below(output) || output.find('/') != std::string::npos)
      return fail_usage("the file's name \"" + one_line(output) +
                        "\" is taken or cannot be used here: name one with --output");
  }
  auto file = PartialFile::at(output);
  if (!file) return fail(file.error().message);
  const auto answer =
      client.download(path + "/content", [&](std::string_view bytes) { return file->write(bytes); });
  const base::Status written = answer.ok ? file->finish() : base::Status();
  if (!answer.ok) return fail(answer.error);
  if (!written) return fail(written.error().message);
  if (!client.options().quiet) std::cerr << "millrace: " << one_line(output) << " is written\n";
  return kOk;
}

int files_rm(const std::vector<std::string>& files, ClientOptions options) {
  Client client(std::move(options));
  return each_file(files, [&](const std::string& file) {
    const auto answer = client.request("DELETE", path_of_file(file));
    if (!answer.ok) return fail(answer.error);
    if (client.options().json) std::cout << answer.json->dump() << '\n';
    return finish_output();
  });
}

}  // namespace millrace::cli
