#include "storage/postgres/write_queue.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace millrace::storage {
namespace {

bool have_rows_in_common(const StatementForm& one, std::string_view key, const WriteQueue::Batch& batch) {
  const StatementForm& other = batch.text->form;
  const bool is_by_key = !one.key.empty() && one.key == other.key;
  return !is_by_key || batch.keys.contains(std::string(key));
}

bool depend(const StatementForm& write, std::string_view key, const WriteQueue::Batch& batch) {
  const StatementForm& other = batch.text->form;
  if (write.target == other.target) return have_rows_in_common(write, key, batch);
  return other.names(write.target) || write.names(other.target);
}

bool may_join(const WriteQueue::Batch& batch, const std::vector<PostgresValue>& values) {
  if (values.size() != batch.columns.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!batch.columns[i].accepts(values[i])) return false;
  }
  return batch.text->form.may_repeat_keys || !batch.keys.contains(values[0].bytes);
}

}  // namespace

void WriteQueue::add(const std::shared_ptr<PostgresText>& text, const std::vector<PostgresValue>& values) {
  const StatementForm& form = text->form;
  const std::string_view key = form.key.empty() ? std::string_view() : std::string_view(values[0].bytes);
  std::size_t at = batches_.size();
  if (form.is_joinable) {
    for (std::size_t i = batches_.size(); i-- > 0;) {
      if (batches_[i].text == text && may_join(batches_[i], values)) {
        at = i;
        break;
      }
      if (depend(form, key, batches_[i])) break;
    }
  }
  if (at == batches_.size())
    batches_.push_back({.text = text, .columns = std::vector<PostgresArray>(values.size())});
  Batch& batch = batches_[at];
  for (std::size_t i = 0; i < values.size(); ++i) {
    batch.columns[i].add(values[i]);
    bytes_ += values[i].bytes.size();
  }
  ++rows_;
  ++batch.rows;
  if (!form.key.empty()) batch.keys.emplace(key);
  last_ = at;
  ++added_;
}

std::vector<PostgresValue> WriteQueue::take_last() {
  Batch& batch = batches_[last_];
  std::vector<PostgresValue> values;
  values.reserve(batch.columns.size());
  for (PostgresArray& column : batch.columns) values.push_back(column.take_last());
  if (--batch.rows == 0) batches_.erase(batches_.begin() + static_cast<std::ptrdiff_t>(last_));
  return values;
}

bool WriteQueue::changes_rows_of(const StatementForm& read, std::string_view key) const {
  return std::ranges::any_of(batches_, [&](const Batch& batch) {
    return read.names(batch.text->form.target) && have_rows_in_common(read, key, batch);
  });
}

std::vector<WriteQueue::Batch> WriteQueue::take_all() {
  rows_ = bytes_ = 0;
  ++added_;  // too late to take the last one
  return std::exchange(batches_, {});
}

}  // namespace millrace::storage
