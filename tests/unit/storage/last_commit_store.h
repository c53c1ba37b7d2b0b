#pragma once
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/data_dir.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/log_reader.h"
#include "storage/writer/last_commit.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

// A store whose process was killed, and whose log a test damages.
namespace millrace::storage {

namespace fs = std::filesystem;

inline constexpr int kCopied = 20,
                     kMore = 10;  // commits that a checkpoint copied before the end, and later ones
inline constexpr std::int64_t kLogHeader = 32, kLogFrame = kPageBytes + 24;

inline Store::Options without_checkpoints(const std::string& data_dir) {
  Store::Options options = test_options(data_dir);
  options.checkpoint_interval = std::chrono::hours(1);
  return options;
}

inline bool bump_often(Store& store, int times) {
  for (int i = 0; i < times; ++i) {
    if (!write(store, bump)) return false;
  }
  return true;
}

// Closing the first store copies what it has written. The second one keeps the log, and a reader prevents
// that it is restarted.
inline int write_and_wait_for_the_end(const std::string& data_dir, OtherProcess::Line& line) {
  base::SystemClock clock;
  auto first = opened(without_checkpoints(data_dir), clock);
  auto second = opened(without_checkpoints(data_dir), clock);
  if (!bump_often(*first, kCopied)) return 1;
  SqliteDb reader({.path = DataDir(data_dir).database, .mode = SqliteDb::Mode::kReader});
  reader.execute("BEGIN; SELECT count(*) FROM jobs");
  first->close();
  if (!bump_often(*second, kMore)) return 1;
  line.send('w');
  return line.receive();
}

inline void change_byte(const std::string& file, std::int64_t at) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(at);
  const auto before = static_cast<char>(bytes.get());
  bytes.seekp(at);
  bytes.put(static_cast<char>(before ^ 1));
}

inline void write_text(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::trunc | std::ios::binary) << text;
}

inline std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline int kept_logs(const std::string& data_dir) {
  int kept = 0;
  for (const auto& entry : fs::directory_iterator(data_dir))
    kept += entry.path().filename().string().starts_with("millrace.db-wal.damaged-") ? 1 : 0;
  return kept;
}

inline std::string error_of_start(const Store::Options& options) {
  base::SystemClock clock;
  const auto store = Store::open(options, clock);
  return store ? std::string() : store.error().message;
}

class LastCommitFile : public ::testing::Test {
 protected:
  struct Start {
    std::int64_t bumps = 0, missing = 0;
    bool operator==(const Start&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Start& start) {
      return out << start.bumps << " bumps, " << start.missing << " missing";
    }
  };

  void SetUp() override {
    OtherProcess writer([&](auto& line) { return write_and_wait_for_the_end(dir_.str(), line); });
    ASSERT_EQ(writer.line().receive(), 'w');
    written_ = read_log(log_)->commits;
    ASSERT_GE(written_.size(), std::size_t{kCopied + kMore});
  }

  Start start() {
    base::SystemClock clock;
    auto store = opened(without_checkpoints(dir_.str()), clock);
    return {bumps(*store), store->stats().commits_missing};
  }
  // A byte of the page with which this commit ends, counted from the last one.
  std::int64_t in_commit_from_end(int number) const {
    return kLogHeader + (written_[written_.size() - 1 - static_cast<std::size_t>(number)] - 1) * kLogFrame +
           100;
  }
  static Start whole(std::int64_t missing = 0) { return {kCopied + kMore, missing}; }

  support::TempDir dir_;
  const DataDir data_{dir_.str()};
  const std::string log_ = data_.database + "-wal", last_ = data_.locks + "/last-commit";
  std::vector<std::uint32_t> written_;
};

}  // namespace millrace::storage
