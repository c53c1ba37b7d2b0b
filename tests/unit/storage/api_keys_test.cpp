#include "storage/admin/api_keys.h"

#include <future>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage {
namespace {

template <class F>
base::Result<bool> moved(F&& move) {
  auto told = std::make_shared<std::promise<base::Result<bool>>>();
  move([told](base::Result<bool> r) { told->set_value(std::move(r)); });
  return told->get_future().get();
}

class ApiKeysTest : public ::testing::Test {
 protected:
  ApiKeyRow key(std::string id) const {
    return {.id = std::move(id),
            .mac = base::sha256("m"),
            .name = "ci",
            .tenant = "acme",
            .scopes = {"jobs:read", "ocr"},
            .created_at = clock_.wall(),
            .expires_at = clock_.wall() + std::chrono::hours(1),
            .revoked_at = std::nullopt,
            .last_used_at = std::nullopt};
  }
  base::Result<bool> create(const std::string& id) {
    return moved([&](Callback<bool> done) { rows_.create(key(id), std::move(done)); });
  }
  base::Result<bool> revoke(const std::string& id) {
    return moved([&](Callback<bool> done) { rows_.revoke(id, std::move(done)); });
  }

  support::TempDir dir_;
  base::ManualClock clock_;
  std::unique_ptr<Store> store_ = opened(test_options(dir_.str()), clock_);
  ApiKeys rows_{*store_};
};

TEST_F(ApiKeysTest, AKeyComesBackAsItWasCreated) {
  ASSERT_TRUE(create("aaaaaaaa"));
  const auto found = rows_.find("aaaaaaaa");
  ASSERT_TRUE(found && *found);
  const ApiKeyRow& row = **found;
  EXPECT_EQ(row.mac, base::sha256("m"));
  EXPECT_EQ(row.name, "ci");
  EXPECT_EQ(row.tenant, "acme");
  EXPECT_EQ(row.scopes, (std::vector<std::string>{"jobs:read", "ocr"}));
  EXPECT_EQ(row.created_at, clock_.wall());
  EXPECT_EQ(row.expires_at, clock_.wall() + std::chrono::hours(1));
  EXPECT_FALSE(row.revoked_at);
  EXPECT_EQ(rows_.all()->size(), 1u);
  EXPECT_FALSE(*rows_.find("bbbbbbbb"));
}

TEST_F(ApiKeysTest, AnIdIsGivenOnce) {
  ASSERT_TRUE(create("aaaaaaaa"));
  EXPECT_EQ(create("aaaaaaaa").error().code, base::Code::kInvalidState);
}

TEST_F(ApiKeysTest, EveryChangeThatGuardsMustSeeRaisesTheVersion) {
  const auto version = [&] { return rows_.version().value(); };
  const auto at_first = version();
  ASSERT_TRUE(create("aaaaaaaa"));
  EXPECT_EQ(version(), at_first + 1);
  EXPECT_FALSE(create("aaaaaaaa"));
  EXPECT_EQ(version(), at_first + 1);
  ASSERT_TRUE(revoke("aaaaaaaa"));
  EXPECT_EQ(version(), at_first + 2);
  ASSERT_TRUE(moved([&](Callback<bool> done) { rows_.touch({"aaaaaaaa"}, std::move(done)); }));
  EXPECT_EQ(version(), at_first + 2);
  EXPECT_EQ((*rows_.find("aaaaaaaa"))->last_used_at, clock_.wall());
}

TEST_F(ApiKeysTest, ARevocationKeepsItsFirstTime) {
  ASSERT_TRUE(create("aaaaaaaa"));
  ASSERT_TRUE(revoke("aaaaaaaa"));
  const auto first = clock_.wall();
  clock_.advance(std::chrono::seconds(5));
  ASSERT_TRUE(revoke("aaaaaaaa"));
  EXPECT_EQ((*rows_.find("aaaaaaaa"))->revoked_at, first);
}

TEST_F(ApiKeysTest, AnUnknownKeyCannotBeRevoked) {
  EXPECT_EQ(revoke("aaaaaaaa").error().code, base::Code::kNotFound);
}

}  // namespace
}  // namespace millrace::storage
