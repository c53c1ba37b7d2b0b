#include <algorithm>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "storage/admin/inspection.h"
#include "tests/unit/storage/last_commit_store.h"

// What a start that finds commits missing leaves behind, in which order.
namespace millrace::storage {
namespace {

TEST_F(LastCommitFile, ALogOfWhichAPartIsUsedIsKeptAsItWas) {
  change_byte(log_, in_commit_from_end(3));
  const std::string damaged = text_of(log_);
  EXPECT_EQ(start().missing, 4);
  ASSERT_EQ(kept_logs(dir_.str()), 1);
  for (const auto& entry : fs::directory_iterator(dir_.str())) {
    const std::string file = entry.path();
    if (file.find("-wal.damaged-") != std::string::npos) {
      EXPECT_TRUE(text_of(file) == damaged);
    }
  }
}

TEST_F(LastCommitFile, ANoteThatCannotBeWrittenRefusesTheStartAndIsWrittenLater) {
  change_byte(log_, in_commit_from_end(1));
  const std::string notes = dir_.str() + "/missing-commits";
  fs::create_directory(notes);
  const std::string error = error_of_start(without_checkpoints(dir_.str()));
  EXPECT_NE(error.find(notes + ": cannot be written: "), std::string::npos) << error;
  fs::remove(notes);
  EXPECT_EQ(start(), (Start{kCopied + kMore - 2, 2}));
}

// A start that is killed leaves no note of a log that is not kept.
TEST_F(LastCommitFile, TheLogIsKeptBeforeTheNoteIsWritten) {
  const auto now = base::SystemClock().wall();
  std::string kept = log_ + ".damaged-" + base::rfc3339(now);
  std::erase(kept, ':');
  for (const int damage : {3, kMore + 5}) {  // the first log is used in part, the second not at all
    change_byte(log_, in_commit_from_end(damage));
    fs::create_directories(kept + "/x");
    LastCommit last(data_.locks);
    EXPECT_FALSE(report_and_set_aside(data_, last, now, true));
    EXPECT_FALSE(fs::exists(dir_.str() + "/missing-commits"));
    EXPECT_TRUE(fs::exists(log_));
    fs::remove_all(kept);
    change_byte(log_, in_commit_from_end(damage));
  }
  EXPECT_EQ(start(), whole());
}

TEST_F(LastCommitFile, ALogIsKeptOnceHoweverOftenTheNoteCannotBeWritten) {
  for (const int damage : {3, kMore + 5}) {
    change_byte(log_, in_commit_from_end(damage));
    const std::string damaged = text_of(log_), notes = dir_.str() + "/missing-commits";
    fs::create_directory(notes);
    for (int i = 0; i < 2; ++i) EXPECT_NE(error_of_start(without_checkpoints(dir_.str())), "");
    EXPECT_TRUE(text_of(log_) == damaged);
    EXPECT_EQ(kept_logs(dir_.str()), damage == 3 ? 1 : 2);
    fs::remove(notes);
    change_byte(log_, in_commit_from_end(damage));
  }
  change_byte(log_, in_commit_from_end(kMore + 5));
  EXPECT_EQ(start(), (Start{kCopied, kMore}));
  EXPECT_EQ(kept_logs(dir_.str()), 2);
  EXPECT_FALSE(fs::exists(log_ + ".damaged"));
}

// The disk may fail for a while. If the log counted as missing, the start would go on without its commits.
TEST_F(LastCommitFile, ALogThatCannotBeReadRefusesTheStartAndChangesNothing) {
  const std::string away = dir_.str() + "/away", unreadable = log_ + ": cannot be read: ";
  fs::rename(log_, away);
  for (const bool is_folder : {true, false}) {
    is_folder ? static_cast<void>(fs::create_directory(log_)) : fs::create_symlink(log_, log_);
    LastCommit last(data_.locks);
    const auto refused = report_and_set_aside(data_, last, base::SystemClock().wall(), true);
    EXPECT_TRUE(!refused && refused.error().message.starts_with(unreadable));
    const auto inspected = inspect_store(dir_.str());
    EXPECT_TRUE(!inspected && inspected.error().message.starts_with(unreadable));
    EXPECT_TRUE(error_of_start(without_checkpoints(dir_.str())).starts_with(log_ + ": cannot be "));
    fs::remove(log_);
  }
  EXPECT_FALSE(fs::exists(dir_.str() + "/missing-commits"));
  fs::rename(away, log_);
  EXPECT_EQ(start(), whole());
}

TEST_F(LastCommitFile, IsReportedOnceIfTheStartIsKilledBeforeItsEnd) {
  const std::string before = text_of(last_);
  change_byte(log_, in_commit_from_end(1));
  const std::string damaged = text_of(log_), database = text_of(data_.database);
  EXPECT_EQ(start().missing, 2);
  write_text(last_, before);
  write_text(log_, damaged);
  write_text(data_.database, database);
  EXPECT_EQ(start().missing, 2);
}

}  // namespace
}  // namespace millrace::storage
