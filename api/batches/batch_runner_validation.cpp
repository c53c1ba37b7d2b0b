#include <utility>

#include "api/batches/batch_runner.h"
#include "platform/base/bytes.h"

// How a BatchRunner checks an input.
namespace millrace::api {
namespace {

constexpr std::size_t kLinesPerWrite = 500;
constexpr std::int64_t kBytesPerStep = 1 << 20;  // then other batches have their turn

schemas::BatchError line_fault(const BatchInput::Line& line, std::string code, std::string message,
                               std::string param = {}) {
  return {
      .code = std::move(code), .message = std::move(message), .param = std::move(param), .line = line.number};
}

}  // namespace

base::Result<std::unique_ptr<BatchRunner::Validation>> BatchRunner::begin_validation(
    const Driven& driven) const {
  if (!driven.input) return base::error(base::Code::kStoredDamaged, "The input of the batch is missing");
  auto file = context_.store.blobs().open(*driven.input);
  if (!file) return file.error();
  return std::unique_ptr<Validation>(
      new Validation{.input = BatchInput(*std::move(file), context_.options.batches.line_bytes_max),
                     .custom_ids = {},
                     .errors = {},
                     .unsaved = {}});
}

void BatchRunner::check_line(Validation& check, const Driven& driven, const BatchInput::Line& line,
                             std::string& text) const {
  if (check.errors.size() >= schemas::kBatchErrorsMax) return;
  if (line.is_too_long) {
    const std::string most = base::format_bytes(context_.options.batches.line_bytes_max);
    return check.errors.push_back(
        line_fault(line, "line_too_long", "The line has more than " + most + " (batches.line_bytes)"));
  }
  auto read = schemas::parse_batch_line(text, driven.batch.shape, driven.batch.endpoint, line.number);
  if (!read) return check.errors.push_back(std::move(read.error()));
  if (!check.custom_ids.insert(read->custom_id).second)
    return check.errors.push_back(
        line_fault(line, "duplicate_custom_id", "Another line has this `custom_id`", "custom_id"));
  check.unsaved.push_back({.number = line.number,
                           .custom_id = std::move(read->custom_id),
                           .starts_at = line.starts_at,
                           .bytes = line.bytes});
}

base::Result<bool> BatchRunner::validate(Run& run, const Driven& driven) {
  if (!run.validation) {
    auto begun = begin_validation(driven);
    if (!begun && begun.error().code == base::Code::kStoredDamaged) {
      const base::Status failed =
          batches_.fail(run.id, {{.code = "input_damaged", .message = begun.error().message}}, 0);
      return failed ? base::Result<bool>(true) : failed.error();
    }
    if (!begun) return begun.error();
    run.validation = *std::move(begun);
  }
  Validation& check = *run.validation;
  if (check.is_clean) return check.is_read ? end_validation(run) : read_lines(run, driven);
  const auto dropped = batches_.drop_lines(run.id);
  if (!dropped) return dropped.error();
  check.is_clean = *dropped;
  return true;
}

base::Result<bool> BatchRunner::read_lines(Run& run, const Driven& driven) {
  Validation& check = *run.validation;
  const int lines_max = context_.options.batches.lines_max;
  std::string text;
  for (std::int64_t bytes = 0; bytes < kBytesPerStep && check.unsaved.size() < kLinesPerWrite;) {
    const auto line = check.input.next(text);
    if (!line) return line.error();
    check.is_read = !*line;
    if (check.is_read) break;
    bytes += (*line)->bytes;
    if ((*line)->is_empty) continue;
    if (++check.lines > lines_max) {
      check.errors.push_back(
          {.code = "too_many_lines",
           .message = "The input has more than " + std::to_string(lines_max) + " lines (batches.lines)"});
      check.is_read = true;
      break;
    }
    check_line(check, driven, **line, text);
  }
  if (check.errors.empty() && !check.unsaved.empty()) {
    if (const base::Status added = batches_.add_lines(run.id, check.unsaved); !added) return added.error();
  }
  check.unsaved.clear();
  if (check.is_read) check.is_clean = check.errors.empty();  // what was stored is dropped
  return true;
}

base::Result<bool> BatchRunner::end_validation(Run& run) {
  Validation& check = *run.validation;
  if (check.lines == 0)
    check.errors.push_back({.code = "empty_file", .message = "The input has no requests"});
  const base::Status ended = check.errors.empty() ? batches_.begin(run.id, check.lines)
                                                  : batches_.fail(run.id, check.errors, check.lines);
  if (!ended) return ended.error();
  run.validation = nullptr;
  return true;
}

}  // namespace millrace::api
