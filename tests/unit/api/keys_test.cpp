#include "api/admission/keys.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/base64.h"
#include "tests/support/temp_dir.h"

namespace millrace::api {
namespace {

constexpr std::string_view kPepper = "a pepper of the test's own, long enough";

class AdminKey : public ::testing::Test {
 protected:
  AdminKey() { store = *storage::Store::open({.data_dir = folder.str()}, clock); }
  ~AdminKey() override { store->close(); }

  void first_start() {
    const base::Status made = ensure_admin_key(*store, kPepper);
    EXPECT_TRUE(made.has_value()) << made.error().message;
  }
  std::string text() const {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
  }
  // The stored row of the key in the file.
  std::optional<storage::ApiKeyRow> row() {
    const std::string key = text();
    const auto id = schemas::key_id(key);
    if (!id) return std::nullopt;
    return *storage::ApiKeys(*store).find(std::string(*id));
  }
  std::string make(schemas::ScopeSet scopes, std::optional<base::WallTime> expires = {}) {
    return create_key(*store, kPepper, {.name = "k", .scopes = scopes, .expires_at = expires})->row.id;
  }
  void expect_admin_key() {
    const auto found = row();
    ASSERT_TRUE(found) << text();
    EXPECT_EQ(found->mac, key_mac(kPepper, text()));
    EXPECT_EQ(found->scopes, schemas::ScopeSet::all().names());
    EXPECT_FALSE(found->revoked_at);
    struct stat about {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
  }

  support::TempDir folder;
  base::SystemClock clock;
  std::unique_ptr<storage::Store> store;
  const std::string path = folder.str() + "/admin.key";
};

TEST_F(AdminKey, APepperIsMadeOnlyForAStoreWithoutKeys) {
  const auto made = pepper_of(*store);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(ensure_admin_key(*store, *made));
  EXPECT_EQ(*pepper_of(*store), *made);
  ASSERT_EQ(::unlink((folder.str() + "/pepper").c_str()), 0);
  const auto lost = pepper_of(*store);
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().message.starts_with(folder.str() + "/pepper is missing, "))
      << lost.error().message;
  folder.write("pepper", *made + "\n");
  EXPECT_EQ(*pepper_of(*store), *made);
}

TEST_F(AdminKey, AnotherPepperIsRefusedUntilItIsAccepted) {
  const auto made = pepper_of(*store);
  ASSERT_TRUE(made && ensure_admin_key(*store, *made));
  const std::string other = std::string(64, 'a');
  folder.write("pepper", other + "\n");
  const auto refused = pepper_of(*store);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/pepper is not the file"), std::string::npos);
  ASSERT_TRUE(accept_secrets(*store, "test"));
  EXPECT_EQ(*pepper_of(*store), other);
  folder.write("pepper", *made + "\n");
  EXPECT_FALSE(pepper_of(*store));
}

TEST_F(AdminKey, ASecretKeyIsMadeOnceAndAnotherIsRefused) {
  const auto made = secret_key_of(*store);
  ASSERT_TRUE(made);
  EXPECT_EQ(*secret_key_of(*store), *made);
  ASSERT_EQ(::unlink((folder.str() + "/secret.key").c_str()), 0);
  const auto lost = secret_key_of(*store);
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find("/secret.key is missing"), std::string::npos);
  EXPECT_NE(::access((folder.str() + "/secret.key").c_str(), F_OK), 0) << "no other one may be created";
  folder.write("secret.key", base::base64_encode(std::string(32, 'k')) + "\n");
  EXPECT_FALSE(secret_key_of(*store));
}

TEST_F(AdminKey, IsMadeOnTheFirstStartAndStays) {
  first_start();
  expect_admin_key();
  const std::string first = text();
  first_start();
  EXPECT_EQ(text(), first);
  EXPECT_EQ(list_keys(*store)->size(), 1u);
}

TEST_F(AdminKey, IsMadeThoughAKeyWithoutAdminWasMadeBefore) {
  make(schemas::ScopeSet::of_a_new_key());
  first_start();
  expect_admin_key();
}

TEST_F(AdminKey, IsNotMadeWhileAnotherKeyIsAdmin) {
  make(schemas::ScopeSet::all());
  first_start();
  EXPECT_EQ(text(), "");
  EXPECT_EQ(list_keys(*store)->size(), 1u);
}

TEST_F(AdminKey, IsMadeWhereEveryAdminKeyIsRevokedOrExpired) {
  ASSERT_TRUE(revoke_key(*store, make(schemas::ScopeSet::all())).has_value());
  make(schemas::ScopeSet::all(), clock.wall() - std::chrono::seconds(1));
  first_start();
  expect_admin_key();
}

TEST_F(AdminKey, OfAFileWhoseKeyWasRevokedIsReplaced) {
  first_start();
  const std::string old = text();
  ASSERT_TRUE(revoke_key(*store, row()->id).has_value());
  first_start();
  EXPECT_NE(text(), old);
  expect_admin_key();
}

TEST_F(AdminKey, OfAStartThatWasCutShortIsUsed) {
  const std::string left = schemas::make_key_text();
  folder.write("admin.key", left + "\n");
  first_start();
  EXPECT_EQ(text(), left);
  EXPECT_EQ(row()->mac, key_mac(kPepper, left));
}

TEST_F(AdminKey, LeavesAFileAloneThatHoldsALiveKeyOfLess) {
  const auto made = create_key(*store, kPepper, {.name = "k", .scopes = schemas::ScopeSet::of_a_new_key()});
  folder.write("admin.key", made->text + "\n");
  first_start();
  EXPECT_EQ(text(), made->text);
  EXPECT_EQ(list_keys(*store)->size(), 1u);
}

}  // namespace
}  // namespace millrace::api
