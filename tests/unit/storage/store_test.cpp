#include "storage/store.h"

#include <future>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "storage/access_rows.h"
#include "storage/readers.h"
#include "storage/sqlite.h"
#include "tests/support/temp_dir.h"

namespace millrace::storage {
namespace {

TEST(StoreTest, WhatWasAnsweredIsReadAfterReopening) {
  support::TempDir dir;
  base::SystemClock clock;
  for (int round = 0; round < 2; ++round) {
    auto store = Store::open({.data_dir = dir.str() + "/data", .disk_free_min_bytes = 0}, clock);
    ASSERT_TRUE(store) << store.error().message;
    std::promise<base::Status> told;
    (*store)->writer().submit(
        Writer::Priority::kNormal, 0,
        [](Tx& tx) -> base::Status {
          tx.db.prepare("UPDATE access_version SET version = version + 1").run();
          return {};
        },
        [&](base::Status s) { told.set_value(std::move(s)); });
    EXPECT_TRUE(told.get_future().get());
    std::int64_t version = 0;
    ASSERT_TRUE((*store)->readers().read([&](Db& db) {
      auto s = db.prepare("SELECT version FROM access_version");
      s.step();
      version = s.integer(0);
    }));
    EXPECT_EQ(version, 2 + round);
  }
}

}  // namespace
}  // namespace millrace::storage
