#pragma once
#include <optional>
#include <string>

#include "storage/store.h"

namespace millrace::storage {

// One value per secret file of DATA, by which a file of another store is noticed. Blocks until the commit.
class SecretChecks {
 public:
  explicit SecretChecks(Store& store) : store_(store) {}

  // nullopt: the file was never used.
  base::Result<std::optional<std::string>> find(const std::string& name);
  // Stores the first value. Another process may be first: call `find` afterwards.
  base::Status add(std::string name, std::string value);
  base::Status replace(std::string name, std::string value, std::string actor);

 private:
  Store& store_;
};

}  // namespace millrace::storage
