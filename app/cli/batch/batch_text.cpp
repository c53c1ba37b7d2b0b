#include "app/cli/batch/batch_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace millrace::cli {

using nlohmann::json;
namespace {

std::optional<CutOff> print_row(const DocumentEnd& end, const ReportStyle& style) {
  json row = {{"file", end.file}, {"status", end.status}, {style.nouns.pages, end.pages}};
  if (!end.job.empty()) row["job"] = end.job;
  if (!end.output.empty()) row["output"] = end.output;
  if (!end.code.empty() || !end.message.empty())
    row["error"] = {{"code", end.code}, {"message", end.message}};
  for (const PartWarning& warning : end.warnings) {
    row["warnings"].push_back(
        {{style.nouns.pages, warning.parts}, {"code", warning.code}, {"message", warning.message}});
  }
  if (end.before) row["before"] = true;
  if (end.text) row[style.text_member] = *end.text;
  return print_whole(row.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
}

constexpr std::size_t kPartsShown = 5;

// "page 2: looks Russian", "pages 1, 2: looks Russian"
std::string text_of(const PartWarning& warning, const ProgressNouns& nouns) {
  std::string text(warning.parts.size() == 1 ? nouns.page : nouns.pages);
  for (std::size_t i = 0; i < std::min(warning.parts.size(), kPartsShown); ++i)
    text += (i == 0 ? " " : ", ") + std::to_string(warning.parts[i]);
  if (warning.parts.size() > kPartsShown) text += ", …";
  return text + ": " + warning.message;
}

std::string good_line(const DocumentEnd& end, const ProgressNouns& nouns) {
  std::string line = (end.warnings.empty() ? "✓ " : "! ") + end.file;
  if (!end.output.empty()) line += " → " + end.output;
  line.append(", ").append(std::to_string(end.pages)).append(" ");
  line.append(end.pages == 1 ? nouns.page : nouns.pages);
  if (!end.message.empty()) line += ", " + end.message;
  for (const PartWarning& warning : end.warnings) line += "; " + text_of(warning, nouns);
  return line;
}

}  // namespace

std::optional<CutOff> report(const DocumentEnd& end, const ReportStyle& style, Progress& progress) {
  const auto cut_off = style.as_json ? print_row(end, style) : std::nullopt;
  if (end.status != "succeeded") {
    progress.failure("✗ " + end.file + ": " + end.message + (end.code.empty() ? "" : " (" + end.code + ")"));
  } else if (!end.message.empty() || !end.warnings.empty()) {
    progress.failure(good_line(end, style.nouns));
  } else if (!progress.on_terminal()) {
    progress.line(good_line(end, style.nouns));
  }
  return cut_off;
}

namespace {

std::string all_done_text(const EarlierResults& before, const ProgressNouns& nouns) {
  const bool one = before.documents == 1;
  std::string text = one ? "It was " : "All " + counted(before.documents, nouns.documents) + " were ";
  text.append(nouns.done).append(one ? " before; its result is" : " before; their results are");
  return text + " in " + before.folder.string() + ". To process " +
         (one ? "it again, remove it" : "them again, remove them");
}

std::string done_text(const EarlierResults& before, const ProgressNouns& nouns) {
  if (before.done == 0) return "The previous run has " + std::string(nouns.done) + " none";
  const bool one = before.done == 1;
  std::string text = std::to_string(before.done) + " of " + counted(before.documents, nouns.documents);
  text.append(one ? " was " : " were ").append(nouns.done);
  return text + (one ? " before, its result is in " : " before, their results are in ") +
         before.folder.string();
}

int done_well(const Totals& totals) { return totals.documents_done - totals.documents_failed; }

}  // namespace

std::string counted(int count, std::string_view documents) {
  if (count == 1) documents.remove_suffix(1);
  return std::to_string(count).append(" ").append(documents);
}

std::string before_text(const EarlierResults& before, const ProgressNouns& nouns) {
  if (before.done + before.going_on + before.failed == 0) return {};
  if (before.done == before.documents) return all_done_text(before, nouns);
  std::string text = done_text(before, nouns);
  const int left = before.documents - before.done;
  text += "; " + std::to_string(left) + (left == 1 ? " remains" : " remain");
  std::string why = before.going_on == 0 ? "" : std::to_string(before.going_on) + " already submitted";
  if (before.failed > 0)
    why += (why.empty() ? "" : ", ") + std::to_string(before.failed) + " failed before and " +
           (before.failed == 1 ? "is" : "are") + " retried";
  return why.empty() ? text : text + " (" + why + ")";
}

std::string so_far_text(const Totals& totals, const std::string& folder) {
  const int done = done_well(totals);
  if (done == 0) return {};
  std::string text = std::to_string(done) + " of " + std::to_string(totals.documents);
  text.append(done == 1 ? " is " : " are ").append(totals.nouns.done);
  return folder.empty() ? text : text + ", in " + folder;
}

std::string results_text(const Totals& totals, const std::string& folder) {
  if (folder.empty() || done_well(totals) == 0) return {};
  std::string text = totals.documents == 1 ? "The result is in " : "The results are in ";
  text += folder;
  return totals.documents_failed == 0 ? text : text + "; run the same command again to retry what failed";
}

std::string left_out_text(const std::map<std::string, int>& by_ending, const std::string& kinds) {
  std::string text;
  for (const auto& [ending, count] : by_ending) {
    text += (text.empty() ? "Left out: " : ", ") + std::to_string(count) + " ";
    text += ending.empty() ? "without an ending" : ending;
  }
  return text + ": not " + kinds + ".";
}

std::string detached_text(const Totals& totals, int going_on, int not_submitted, const std::string& folder) {
  std::string text = "Detached: " + counted(going_on, totals.nouns.documents);
  text += going_on == 1 ? " continues in the gateway" : " continue in the gateway";
  if (not_submitted > 0)
    text += ", " + std::to_string(not_submitted) + (not_submitted == 1 ? " was" : " were") + " not submitted";
  if (const std::string done = so_far_text(totals, folder); !done.empty()) text += "; " + done;
  if (going_on == 0) return text + ".";
  return text + ". Press Ctrl-C again within 2 s to cancel " + (going_on == 1 ? "it." : "them.");
}

}  // namespace millrace::cli
