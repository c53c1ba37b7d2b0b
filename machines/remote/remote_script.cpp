#include "machines/remote/remote_script.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <vector>

#include "machines/driver.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::machines {
namespace {

using How = CommandResult::How;
using Kind = RemoteMessage::Kind;

constexpr std::size_t kTokenBytes = 16;
constexpr std::size_t kWordLineMax = 512;  // a longer line is not a report

std::string_view part_of(RemoteTask task) {
  switch (task) {
    case RemoteTask::kRun:
      return kRemoteRun;
    case RemoteTask::kSweep:
      return kRemoteSweep;
  }
  return {};
}

std::string program_of(RemoteTask task) {
  std::string program;
  return program.append(kRemoteBase).append(part_of(task));
}

void append_size(std::string& to, std::size_t size) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>((size >> shift) & 0xff));
}

// Builds a request field by field.
class Order {
 public:
  Order& add(std::string_view field) {
    append_size(fields_, field.size());
    fields_.append(field);
    return *this;
  }
  std::string after(std::string program) const {
    append_size(program, fields_.size());
    return program.append(fields_);
  }

 private:
  std::string fields_;
};

// Removes the first word of `line` and returns it.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

std::int64_t number_from(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

RemoteMessage ended(How how, std::string message = {}) {
  RemoteMessage word;
  word.what = how == How::kHostFailed ? Kind::kBroken : Kind::kEnded;
  word.end.how = how;
  word.end.message = std::move(message);
  return word;
}

RemoteMessage not_begun(std::string_view step, int code) {
  if (step == "folder") return ended(How::kPrepareFailed, folder_failure(code));
  if (step == "execute") return ended(How::kPrepareFailed, execute_failure(code));
  return ended(How::kHostFailed, "no process could be created: errno " + std::to_string(code));
}

// The number of bytes at the end of `bytes` that may be the beginning of `token`.
std::size_t beginning_of(std::string_view token, std::string_view bytes) {
  for (std::size_t size = std::min(token.size() - 1, bytes.size()); size > 0; --size) {
    if (bytes.substr(bytes.size() - size) == token.substr(0, size)) return size;
  }
  return 0;
}

}  // namespace

std::string make_remote_token() { return base::hex(base::random_bytes(kTokenBytes)); }

std::string remote_command(RemoteTask task, const std::string& token) {
  std::string line = "exec perl -e '";
  line.append(kRemoteLoader).append("' ").append(token).append(" ");
  return line.append(std::to_string(program_of(task).size()));
}

std::string remote_run_input(const CommandRequest& request) {
  Order fields;
  fields.add(request.execution).add(schemas::machine_id(request.machine.id)).add(request.cwd);
  fields.add(std::to_string(std::min(request.output_grace, request.timeout).count()));
  fields.add(std::to_string(request.command.size()));
  for (const std::string& word : request.command) fields.add(word);
  for (const auto& [name, value] : request.environment) fields.add(name).add(value);
  return fields.after(program_of(RemoteTask::kRun));
}

std::string remote_sweep_input(const RemoteTree& tree, int signal) {
  Order fields;
  fields.add(tree.execution).add(tree.token).add(std::to_string(tree.runner));
  fields.add(signal == SIGTERM ? "TERM" : "KILL");
  return fields.after(program_of(RemoteTask::kSweep));
}

RemoteMessage remote_message_from(std::string_view line) {
  const std::string_view first = take_word(line);
  RemoteMessage word;
  if (first == "ready") {
    word.what = Kind::kReady;
    return word;
  }
  if (first == "began") {
    word.what = Kind::kBegan;
    word.runner = number_from(line);
    return word;
  }
  if (first == "exit") {
    word = ended(How::kExited);
    word.end.exit_code = static_cast<int>(number_from(line));
    return word;
  }
  if (first == "signal") {
    word = ended(How::kSignalled);
    word.end.signal = static_cast<int>(number_from(line));
    return word;
  }
  if (first == "open") {
    word.what = Kind::kOpen;
    return word;
  }
  if (first == "failed") {
    const std::string_view step = take_word(line);
    return not_begun(step, static_cast<int>(number_from(line)));
  }
  return ended(How::kHostFailed, std::string(line));
}

void RemoteErrors::add(std::string_view bytes) {
  bytes_.erase(0, taken_);
  taken_ = 0;
  bytes_.append(bytes);
}

std::optional<RemoteErrors::Piece> RemoteErrors::next() {
  const std::string_view left = std::string_view(bytes_).substr(taken_);
  const std::size_t found = left.find(token_);
  const std::size_t plain =
      found == std::string_view::npos ? left.size() - beginning_of(token_, left) : found;
  if (plain > 0) {
    taken_ += plain;
    return Piece{false, left.substr(0, plain)};
  }
  if (found != 0) return std::nullopt;
  const std::size_t end = left.find('\n', token_.size());
  if (end == std::string_view::npos && left.size() < kWordLineMax) return std::nullopt;
  const std::size_t size = std::min(end, kWordLineMax);
  taken_ += std::min(size + 1, left.size());
  const std::string_view line = left.substr(token_.size(), size - token_.size());
  return Piece{true, line.substr(0, 1) == " " ? line.substr(1) : line};
}

std::string_view RemoteErrors::rest() {
  const std::string_view left = std::string_view(bytes_).substr(taken_);
  taken_ = bytes_.size();
  return left;
}

std::string_view RemoteOutput::passed(std::string_view bytes) {
  if (ready_) return bytes;
  const std::size_t before = tail_.size();
  tail_.append(bytes);
  const std::size_t found = tail_.find(token_);
  if (found == std::string::npos) {
    tail_.erase(0, tail_.size() - beginning_of(token_, tail_));
    return {};
  }
  ready_ = true;
  return bytes.substr(found + token_.size() - before);
}

}  // namespace millrace::machines
