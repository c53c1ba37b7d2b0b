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

TEST_F(ApiKeysTest, TheFirstKeyOfAnAdministratorIsMadeOnce) {
  const auto first_admin = [&](const std::string& id) {
    ApiKeyRow row = key(id);
    row.scopes = {"chat", "admin"};
    return moved([&](Callback<bool> done) { rows_.create_first_admin(row, std::move(done)); });
  };
  ASSERT_TRUE(create("aaaaaaaa"));
  EXPECT_TRUE(first_admin("bbbbbbbb"));
  EXPECT_EQ(first_admin("cccccccc").error().code, base::Code::kInvalidState);
  ASSERT_TRUE(revoke("bbbbbbbb"));
  EXPECT_TRUE(first_admin("cccccccc"));
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

TEST_F(ApiKeysTest, ItsListsComeBackAsTheyWereCreated) {
  ApiKeyRow limited = key("aaaaaaaa");
  limited.access = {.ip_ranges = std::vector<std::string>{"10.0.0.0/8", "::1"},
                    .models = std::vector<std::string>{"a \"quoted\" name", "openai/*"},
                    .mcp_servers = std::vector<std::string>()};
  ASSERT_TRUE(moved([&](Callback<bool> done) { rows_.create(limited, std::move(done)); }));
  ASSERT_TRUE(create("bbbbbbbb"));
  EXPECT_EQ((*rows_.find("aaaaaaaa"))->access, limited.access);
  EXPECT_EQ((*rows_.find("bbbbbbbb"))->access, schemas::KeyAccess());
  EXPECT_EQ(rows_.all()->front().access, limited.access);
}

TEST_F(ApiKeysTest, ARotationHappensOnceWhileTheSuccessorIsLive) {
  const auto rotate = [&](const std::string& id, const std::string& successor) {
    ApiKeyRow row = key(successor);
    return moved([&](Callback<bool> done) {
      rows_.rotate(id, row, clock_.wall() + std::chrono::minutes(30), std::move(done));
    });
  };
  ASSERT_TRUE(create("aaaaaaaa"));
  ASSERT_TRUE(rotate("aaaaaaaa", "bbbbbbbb"));
  EXPECT_EQ((*rows_.find("aaaaaaaa"))->rotated_to, "bbbbbbbb");
  EXPECT_EQ(rotate("aaaaaaaa", "cccccccc").error().code, base::Code::kInvalidState);
  EXPECT_TRUE(rotate("bbbbbbbb", "cccccccc"));
  ASSERT_TRUE(revoke("bbbbbbbb"));
  EXPECT_TRUE(rotate("aaaaaaaa", "dddddddd"));
  EXPECT_FALSE(*rows_.find("eeeeeeee"));
}

TEST_F(ApiKeysTest, AChangeRaisesTheVersionAndTouchesOnlyItsMembers) {
  ASSERT_TRUE(create("aaaaaaaa"));
  const auto before = **rows_.find("aaaaaaaa");
  const auto version = rows_.version().value();
  schemas::KeyChange change;
  change.models.emplace(std::vector<std::string>{"mock/chat"});
  ASSERT_TRUE(moved([&](Callback<bool> done) { rows_.change("aaaaaaaa", change, std::move(done)); }));
  const auto after = **rows_.find("aaaaaaaa");
  EXPECT_EQ(rows_.version().value(), version + 1);
  EXPECT_EQ(after.access.models, change.models);
  EXPECT_EQ(after.name, before.name);
  EXPECT_EQ(after.scopes, before.scopes);
  EXPECT_EQ(after.expires_at, before.expires_at);
  ASSERT_TRUE(revoke("aaaaaaaa"));
  const auto late = moved([&](Callback<bool> done) { rows_.change("aaaaaaaa", change, std::move(done)); });
  EXPECT_EQ(late.error().code, base::Code::kNotFound);
}

TEST_F(ApiKeysTest, AKeyThatHasEndedChangesNoKeys) {
  ASSERT_TRUE(create("aaaaaaaa"));
  ASSERT_TRUE(create("bbbbbbbb"));
  schemas::KeyChange change;
  change.name = "new";
  const auto acts = [&] {
    std::vector<base::Result<bool>> done;
    done.push_back(moved([&](Callback<bool> d) { rows_.create(key("cccccccc"), std::move(d), "aaaaaaaa"); }));
    done.push_back(
        moved([&](Callback<bool> d) { rows_.change("bbbbbbbb", change, std::move(d), "aaaaaaaa"); }));
    done.push_back(moved([&](Callback<bool> d) {
      rows_.rotate("bbbbbbbb", key("dddddddd"), clock_.wall(), std::move(d), "aaaaaaaa");
    }));
    done.push_back(moved([&](Callback<bool> d) { rows_.revoke("bbbbbbbb", std::move(d), "aaaaaaaa"); }));
    return done;
  };
  ASSERT_TRUE(revoke("aaaaaaaa"));
  for (const auto& done : acts()) {
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, base::Code::kKeyInvalid);
  }
  EXPECT_EQ(rows_.all()->size(), 2u);
  EXPECT_EQ((*rows_.find("bbbbbbbb"))->name, "ci");
  EXPECT_FALSE((*rows_.find("bbbbbbbb"))->revoked_at);
}

TEST_F(ApiKeysTest, ACheckThatRefusesChangesNothing) {
  ASSERT_TRUE(create("aaaaaaaa"));
  const KeyCheck never = [](const ApiKeyRow&) -> base::Status {
    return base::error(base::Code::kForbidden, "no");
  };
  const auto refused =
      moved([&](Callback<bool> done) { rows_.revoke("aaaaaaaa", std::move(done), "someone", never); });
  EXPECT_EQ(refused.error().code, base::Code::kForbidden);
  EXPECT_FALSE((*rows_.find("aaaaaaaa"))->revoked_at);
}

TEST_F(ApiKeysTest, AnUnknownKeyCannotBeRevoked) {
  EXPECT_EQ(revoke("aaaaaaaa").error().code, base::Code::kNotFound);
}

}  // namespace
}  // namespace millrace::storage
