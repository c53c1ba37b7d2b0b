#include "storage/writer/last_commit.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "storage/admin/inspection.h"
#include "tests/unit/storage/last_commit_store.h"

namespace millrace::storage {
namespace {

base::Status fill_table(Tx& tx) {
  tx.db.prepare("CREATE TABLE filled (a, b)").run();
  tx.db.prepare("CREATE INDEX filled_a ON filled (a)").run();
  tx.db
      .prepare(R"(
      WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n WHERE a < 200)
      INSERT INTO filled SELECT a, randomblob(3000) FROM n)")
      .run();
  return {};
}

base::Status change_table(Tx& tx) {
  tx.db.prepare("UPDATE filled SET a = a + 1000").run();
  return {};
}

// Writes the log's pages, or the first bytes of each, to the database up to this share of them, in the order
// of a checkpoint.
void copy_part(const std::string& database, double share, std::streamsize bytes = kPageBytes) {
  const std::string log = text_of(database + "-wal");
  std::map<std::uint32_t, std::size_t> pages;  // number -> where its last frame is
  const auto frames = read_log(database + "-wal")->frames();
  for (std::size_t at = kLogHeader; at < kLogHeader + frames * std::size_t{kLogFrame}; at += kLogFrame) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(log[at + i]);
    pages[number] = at + 24;
  }
  std::fstream file(database, std::ios::in | std::ios::out | std::ios::binary);
  auto left = static_cast<std::size_t>(static_cast<double>(pages.size()) * share);
  for (const auto& [number, at] : pages) {
    if (left-- == 0) break;
    file.seekp(static_cast<std::streamoff>(number - 1) * kPageBytes);
    file.write(log.data() + at, bytes);
  }
}

TEST_F(LastCommitFile, NothingIsMissingAfterAKill) {
  EXPECT_EQ(start(), whole());
  EXPECT_EQ(start(), whole());
  EXPECT_FALSE(fs::exists(dir_.str() + "/missing-commits"));
}

TEST_F(LastCommitFile, ALogThatWasCutOffLacksItsLastCommits) {
  fs::resize_file(log_, fs::file_size(log_) - 1);
  EXPECT_EQ(start(), (Start{kCopied + kMore - 1, 1}));
}

TEST_F(LastCommitFile, AChangedByteEndsTheLog) {
  change_byte(log_, in_commit_from_end(3));
  EXPECT_EQ(start(), (Start{kCopied + kMore - 4, 4}));
}

TEST_F(LastCommitFile, ALogThatEndsBeforeTheDatabaseIsNotUsed) {
  change_byte(log_, in_commit_from_end(kMore + 5));
  EXPECT_EQ(start(), (Start{kCopied, kMore}));
  EXPECT_EQ(kept_logs(dir_.str()), 1);
  EXPECT_EQ(start(), (Start{kCopied, kMore}));
}

// A reader holds the checkpoint back, so that no counted commit is recorded as copied.
TEST_F(LastCommitFile, PagesThatAReaderLetACheckpointCopyCount) {
  const std::string dir = dir_.str() + "/held";
  OtherProcess writer([&](auto& line) {
    base::SystemClock clock;
    auto first = opened(without_checkpoints(dir), clock);
    auto second = opened(without_checkpoints(dir), clock);
    if (!bump_often(*second, kCopied)) return 1;
    SqliteDb reader({.path = DataDir(dir).database, .mode = SqliteDb::Mode::kReader});
    reader.execute("BEGIN; SELECT count(*) FROM jobs");
    if (!bump_often(*first, kMore)) return 1;
    first->close();  // copies what the reader allows: the first commits
    line.send('w');
    return static_cast<int>(line.receive());
  });
  ASSERT_EQ(writer.line().receive(), 'w');
  writer.signal(SIGKILL);
  writer.wait();
  change_byte(dir + "/millrace.db-wal", kLogHeader + 2 * kLogFrame + 100);
  base::SystemClock clock;
  auto store = opened(without_checkpoints(dir), clock);
  EXPECT_EQ(bumps(*store), 0) << "SQLite copies no page that has a newer frame behind the reader's";
  EXPECT_EQ(kept_logs(dir), 1);
  EXPECT_GE(store->stats().commits_missing, kCopied + kMore);
}

TEST_F(LastCommitFile, ALogOfAnotherTimeIsNotUsed) {
  const std::string older = dir_.str() + "/older";
  fs::copy_file(log_, older);
  ASSERT_EQ(start(), whole());
  OtherProcess writer([&](auto& line) { return write_and_wait_for_the_end(dir_.str(), line); });
  ASSERT_EQ(writer.line().receive(), 'w');
  writer.signal(SIGKILL);
  writer.wait();
  fs::rename(older, log_);
  EXPECT_EQ(start(), (Start{2 * kCopied + kMore, kMore}));
  EXPECT_EQ(kept_logs(dir_.str()), 1);
}

// A process that is killed in a checkpoint leaves a database with some newer pages.
TEST_F(LastCommitFile, ADatabaseThatIsMalformedWithoutTheMissingCommitsIsRefused) {
  const std::string dir = dir_.str() + "/mixed", database = dir + "/millrace.db";
  OtherProcess writer([&](auto& line) {
    base::SystemClock clock;
    auto store = opened(without_checkpoints(dir), clock);
    if (!write(*store, fill_table)) return 1;
    store.reset();
    store = opened(without_checkpoints(dir), clock);
    if (!bump_often(*store, kCopied) || !write(*store, change_table)) return 1;
    line.send('w');
    return static_cast<int>(line.receive());
  });
  ASSERT_EQ(writer.line().receive(), 'w');
  writer.signal(SIGKILL);
  writer.wait();
  copy_part(database, 0.5);
  const std::string log = database + "-wal", whole = text_of(log);
  change_byte(log, kLogHeader + kCopied / 2 * kLogFrame + 100);
  const std::string damaged = text_of(log);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(error_of_start(without_checkpoints(dir)).find("is malformed"), std::string::npos);
    EXPECT_NE(error_of_start(without_checkpoints(dir)).find("restore a backup"), std::string::npos);
  }
  EXPECT_TRUE(text_of(log) == damaged) << "nothing is changed";
  EXPECT_FALSE(fs::exists(dir + "/missing-commits"));
  write_text(log, whole);
  EXPECT_EQ(error_of_start(without_checkpoints(dir)), "");
}

TEST_F(LastCommitFile, AStartThatMustNotContinueWithoutCommitsChangesNothing) {
  change_byte(log_, in_commit_from_end(3));
  const std::string damaged = text_of(log_), database = text_of(data_.database);
  Store::Options options = without_checkpoints(dir_.str());
  options.continues_without_commits = false;
  const std::string error = error_of_start(options);
  EXPECT_NE(error.find("4 commits after "), std::string::npos) << error;
  EXPECT_NE(error.find("millrace doctor"), std::string::npos) << error;
  EXPECT_TRUE(text_of(log_) == damaged && text_of(data_.database) == database);
  EXPECT_EQ(kept_logs(dir_.str()), 0);
  EXPECT_EQ(start(), (Start{kCopied + kMore - 4, 4}));
  EXPECT_EQ(error_of_start(options), "") << "a loss that the gateway has accepted";
}

// The commit was written between the checkpointer's look at the file and its checkpoint.
TEST_F(LastCommitFile, ACommitOfAnotherProcessThatACheckpointCopiedIsNotMissing) {
  LastCommit file(data_.locks);
  const CommitPosition now = *file.last();
  CommitPosition before = now;
  --before.commits;
  before.frames = written_[written_.size() - 2];
  file.record_copied(before, now.frames, true, data_.database);
  fs::remove(log_);
  EXPECT_FALSE(find_missing_commits(data_).value());
}

// A sync of the database's data does not write its time.
TEST_F(LastCommitFile, AfterAPowerCutTheTimeOfTheDatabaseMayBeOlder) {
  fs::remove(log_);
  fs::last_write_time(data_.database, fs::last_write_time(data_.database) - std::chrono::seconds(5));
  EXPECT_EQ(start(), (Start{kCopied, kMore}));
}

TEST_F(LastCommitFile, ThatCannotBeOpenedIsNotNeeded) {
  fs::remove(last_);
  fs::create_directory(last_);
  EXPECT_EQ(start(), whole());
}

TEST_F(LastCommitFile, ALogThatIsGoneLacksWhatWasNotCopied) {
  fs::remove(log_);
  EXPECT_EQ(start(), (Start{kCopied, kMore}));
}

TEST_F(LastCommitFile, AnEmptyLogLacksWhatWasNotCopied) {
  write_text(log_, "");
  EXPECT_EQ(start(), (Start{kCopied, kMore}));
}

TEST_F(LastCommitFile, GarbageLacksWhatWasNotCopied) {
  write_text(log_, std::string(100'000, 'x'));
  EXPECT_EQ(start(), (Start{kCopied, kMore}));
}

TEST_F(LastCommitFile, ADamagedHeaderLacksWhatWasNotCopied) {
  change_byte(log_, 17);
  EXPECT_EQ(start(), (Start{kCopied, kMore}));
}

TEST_F(LastCommitFile, IsReportedOnceAndNotedUntilTheNoteIsRemoved) {
  change_byte(log_, in_commit_from_end(0));
  const Start damaged{kCopied + kMore - 1, 1};
  EXPECT_EQ(start(), damaged);
  EXPECT_EQ(start(), damaged) << "the note";
  std::ifstream notes(dir_.str() + "/missing-commits");
  std::string line, more;
  EXPECT_TRUE(std::getline(notes, line) && !std::getline(notes, more));
  EXPECT_NE(line.find(log_ + " is intact only up to frame "), std::string::npos) << line;
  fs::remove(dir_.str() + "/missing-commits");
  EXPECT_EQ(start(), (Start{kCopied + kMore - 1, 0}));
}

TEST_F(LastCommitFile, ASecondLossIsAddedToTheNote) {
  change_byte(log_, in_commit_from_end(0));
  EXPECT_EQ(start().missing, 1);
  OtherProcess writer([&](auto& line) { return write_and_wait_for_the_end(dir_.str(), line); });
  ASSERT_EQ(writer.line().receive(), 'w');
  writer.signal(SIGKILL);
  writer.wait();
  fs::resize_file(log_, fs::file_size(log_) - 1);
  EXPECT_EQ(start().missing, 2);
}

TEST_F(LastCommitFile, NothingIsMissingAfterAnotherProgramHasClosedTheDatabase) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(data_.database.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  ASSERT_FALSE(fs::exists(log_));
  EXPECT_EQ(start(), whole());
}

TEST_F(LastCommitFile, NothingIsMissingInARestoredDatabase) {
  const std::string backup = dir_.str() + "/copy.db";
  ASSERT_EQ(start(), whole());
  fs::copy_file(data_.database, backup);
  OtherProcess writer([&](auto& line) { return write_and_wait_for_the_end(dir_.str(), line); });
  ASSERT_EQ(writer.line().receive(), 'w');
  writer.signal(SIGKILL);
  writer.wait();
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(data_.database + end);
  fs::rename(backup, data_.database);
  EXPECT_EQ(start(), whole());
}

// A backup of the database from before the last checkpoint, put under the log of the killed process.
class RestoredUnderItsLog : public LastCommitFile {
 protected:
  void SetUp() override {
    LastCommitFile::SetUp();
    ASSERT_EQ(start(), whole());
    fs::copy_file(data_.database, backup_);
    OtherProcess writer([&](auto& line) { return write_and_wait_for_the_end(dir_.str(), line); });
    ASSERT_EQ(writer.line().receive(), 'w');
    writer.signal(SIGKILL);
    writer.wait();
  }
  void expect_refused() {
    const std::string log = text_of(log_), database = text_of(data_.database);
    for (int i = 0; i < 2; ++i) {
      const std::string error = error_of_start(without_checkpoints(dir_.str()));
      EXPECT_NE(error.find(data_.database + " was replaced"), std::string::npos) << error;
      EXPECT_NE(error.find("rm -f " + log_ + " " + data_.database + "-shm"), std::string::npos) << error;
    }
    const auto inspected = inspect_store(dir_.str());
    ASSERT_FALSE(inspected);
    EXPECT_NE(inspected.error().message.find(" was replaced"), std::string::npos);
    EXPECT_TRUE(text_of(log_) == log && text_of(data_.database) == database) << "nothing is changed";
    for (const char* end : {"-wal", "-shm"}) fs::remove(data_.database + end);
    EXPECT_EQ(start(), whole());
  }

  const std::string backup_ = dir_.str() + "/copy.db";
};

TEST_F(RestoredUnderItsLog, AnotherFileIsRefusedUntilTheLogIsRemoved) {
  fs::remove(data_.database);
  fs::rename(backup_, data_.database);
  expect_refused();
}

TEST_F(RestoredUnderItsLog, TheContentOfABackupInTheSameFileIsRefused) {
  write_text(data_.database, text_of(backup_));
  expect_refused();
}

TEST_F(RestoredUnderItsLog, TheSameContentInAnotherFileIsNot) {
  fs::copy_file(data_.database, backup_, fs::copy_options::overwrite_existing);
  fs::rename(backup_, data_.database);
  EXPECT_EQ(start(), (Start{2 * (kCopied + kMore), 0}));
}

TEST_F(RestoredUnderItsLog, ACopyOfTheWholeDirectoryIsNot) {
  const support::TempDir other;
  fs::copy(dir_.str(), other.str(), fs::copy_options::recursive);
  base::SystemClock clock;
  const auto store = opened(without_checkpoints(other.str()), clock);
  EXPECT_EQ(bumps(*store), 2 * (kCopied + kMore));
  EXPECT_EQ(store->stats().commits_missing, 0);
}

// A disk that damaged one page, although the database was never restored.
TEST_F(RestoredUnderItsLog, ADamagedPageIsRepairedByTheLogAsTheErrorSays) {
  const std::string log = text_of(log_);
  const auto page = static_cast<unsigned char>(log[kLogHeader + 3]);  // of the first frame
  change_byte(data_.database, std::int64_t{page} * kPageBytes - 100);
  const std::string error = error_of_start(without_checkpoints(dir_.str()));
  EXPECT_NE(error.find("its page " + std::to_string(page) + " is none"), std::string::npos) << error;
  const std::size_t begin = error.find("'PRAGMA ");
  ASSERT_NE(begin, std::string::npos) << error;
  const std::string sql = error.substr(begin + 1, error.find('\'', begin + 1) - begin - 1);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(data_.database.c_str(), &db), SQLITE_OK);
  std::string last;
  const auto keep_last = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) = values[0];
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), keep_last, &last, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_EQ(last, "ok");
  EXPECT_EQ(start(), (Start{2 * (kCopied + kMore), 0}));
}

// Killed in a checkpoint, which has written some pages of later commits.
TEST_F(RestoredUnderItsLog, PagesOfLaterCommitsAreNotOfAnotherDatabase) {
  copy_part(data_.database, 0.5);
  EXPECT_EQ(start(), (Start{2 * (kCopied + kMore), 0}));
}

// A checkpoint was killed, the log was cut off, and the start that noticed it was killed before its end.
class CutOffInACheckpoint : public RestoredUnderItsLog {
 protected:
  void SetUp() override {
    RestoredUnderItsLog::SetUp();
    copy_part(data_.database, 1);
    written_ = read_log(log_)->commits;
    change_byte(log_, in_commit_from_end(0));
    ASSERT_EQ(noted_by_a_killed_start(), 1);
  }
  std::int64_t noted_by_a_killed_start() {
    LastCommit last(data_.locks);
    const auto found = report_and_set_aside(data_, last, base::SystemClock().wall(), true);
    EXPECT_TRUE(found) << found.error().message;
    return missing_commits_noted(data_);
  }
};

TEST_F(CutOffInACheckpoint, PagesOfMissingCommitsAreNotOfAnotherDatabase) {
  EXPECT_EQ(error_of_start(without_checkpoints(dir_.str())), "");
  EXPECT_EQ(error_of_start(without_checkpoints(dir_.str())), "");
  EXPECT_EQ(missing_commits_noted(data_), 1);
}

TEST_F(CutOffInACheckpoint, ASecondLossIsCountedByItself) {
  change_byte(log_, in_commit_from_end(2));
  EXPECT_EQ(noted_by_a_killed_start(), 3) << "two more of them";
}

TEST(PageOfOtherDatabase, IsNoneThatAnInterruptedCheckpointHasWrittenInPart) {
  const support::TempDir dir;
  const std::string open = dir.str() + "/open.db", database = dir.str() + "/x.db", log = database + "-wal";
  sqlite3 *db = nullptr, *reader = nullptr;
  ASSERT_EQ(sqlite3_open(open.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_open(open.c_str(), &reader), SQLITE_OK);
  const auto run = [&](const char* sql, sqlite3* by = nullptr) {
    ASSERT_EQ(sqlite3_exec(by == nullptr ? db : by, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  };
  run("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  run("CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(6000))");
  run("BEGIN; SELECT count(*) FROM t", reader);  // so that the log is not restarted
  int frames = 0;
  ASSERT_EQ(sqlite3_wal_checkpoint_v2(db, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, &frames), SQLITE_OK);
  run("UPDATE t SET x = randomblob(6000)");
  fs::copy_file(open, database);
  fs::copy_file(open + "-wal", log);
  sqlite3_close(reader);
  sqlite3_close(db);
  const auto copied = static_cast<std::uint32_t>(frames);
  const auto other_page = [&] { return page_of_other_database(log, database, copied).value(); };
  EXPECT_EQ(other_page(), std::nullopt);
  const std::string before = text_of(database);
  copy_part(database, 1, kPageBytes / 2);
  EXPECT_TRUE(text_of(database) != before);
  EXPECT_EQ(other_page(), std::nullopt);
  change_byte(database, 2 * kPageBytes - 100);
  EXPECT_EQ(other_page(), 2U);
  EXPECT_EQ(page_of_other_database(log, database, 0).value(), std::nullopt) << "nothing was copied";
}

TEST_F(LastCommitFile, NothingIsMissingAfterAVersionThatDoesNotWriteTheFile) {
  const std::string kept = dir_.str() + "/kept";
  fs::copy_file(last_, kept);
  ASSERT_EQ(start(), whole());
  fs::rename(kept, last_);
  EXPECT_EQ(start(), whole());
}

TEST_F(LastCommitFile, ThatIsMissingOrDamagedIsWrittenAnew) {
  for (const std::string& text :
       {std::string("-"), std::string(), std::string("x"), std::string(5000, 'x')}) {
    text == "-" ? static_cast<void>(fs::remove(last_)) : write_text(last_, text);
    EXPECT_EQ(start(), whole()) << text.size();
  }
}

TEST_F(LastCommitFile, LongerThanItsContentIsRead) {
  std::ofstream(last_, std::ios::app | std::ios::binary) << std::string(5000, 'x');
  EXPECT_EQ(start(), whole());
}

TEST_F(LastCommitFile, OfALaterTimeNamesWhatTheLogLacks) {
  const std::string early = dir_.str() + "/early";
  const auto shorter = static_cast<std::uintmax_t>(in_commit_from_end(2) - 100);
  fs::copy_file(log_, early);
  fs::resize_file(early, shorter);
  fs::rename(early, log_);
  EXPECT_EQ(start(), (Start{kCopied + kMore - 3, 3}));
}

TEST_F(LastCommitFile, IsComparedByAnInspectionToo) {
  change_byte(log_, in_commit_from_end(1));
  const auto found = inspect_store(dir_.str());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_NE(found->missing_commits.find("2 commits after "), std::string::npos) << found->missing_commits;
  EXPECT_EQ(start().missing, 2) << "an inspection changes nothing";
}

// Restarts of the log change its generation.
TEST(LastCommitFileOfARestartedLog, NamesNothingThatIsMissing) {
  support::TempDir dir;
  OtherProcess writer([&](auto& line) {
    base::SystemClock clock;
    Store::Options options = test_options(dir.str());
    options.wal_max_bytes = 1 << 15;
    options.checkpoint_interval = std::chrono::milliseconds(1);
    auto store = opened(options, clock);
    while (store->stats().wal_restarts_total < 3) {
      if (!write(*store, bump)) return 1;
    }
    line.send('w');
    return static_cast<int>(line.receive());
  });
  ASSERT_EQ(writer.line().receive(), 'w');
  writer.signal(SIGKILL);
  writer.wait();
  base::SystemClock clock;
  EXPECT_EQ(opened(test_options(dir.str()), clock)->stats().commits_missing, 0);
}

TEST(LastCommitFileAfterAStop, NamesNothingThatIsMissing) {
  support::TempDir dir;
  base::SystemClock clock;
  for (int i = 0; i < 3; ++i) {
    auto store = opened(without_checkpoints(dir.str()), clock);
    ASSERT_TRUE(bump_often(*store, 3));
    EXPECT_EQ(store->stats().commits_missing, 0);
  }
}

}  // namespace
}  // namespace millrace::storage
