#include <gtest/gtest.h>

#include "app/commands/with_store.h"
#include "tests/support/temp_dir.h"

namespace millrace::app::data_dir_test {
namespace {

TEST(DataDir, HoldsAStoreOnceAGatewayHasMadeIt) {
  const support::TempDir folder;
  EXPECT_FALSE(holds_store(folder.str()));
  EXPECT_FALSE(holds_store(folder.str() + "/none"));
  folder.write("millrace.db", "rows");
  EXPECT_TRUE(holds_store(folder.str()));
}

TEST(DataDir, HoldsOneToBeOpenedWhereItsDatabaseIsLost) {
  const support::TempDir folder;
  folder.write("pepper", "salt");
  EXPECT_TRUE(holds_store(folder.str()));
}

}  // namespace
}  // namespace millrace::app::data_dir_test
