#include "storage/s3/owner.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "platform/base/fd.h"

namespace millrace::s3 {
namespace {

constexpr std::string_view kFolder = ".owner/";
constexpr std::string_view kText = "The objects below this prefix belong to this store of Millrace.\n";
constexpr int kListed = 1'000;  // its key comes before those of blobs

base::Result<std::vector<std::string>> owners_of(Client& client) {
  const auto listing = client.list({}, kListed);
  if (!listing) return listing.error();
  std::vector<std::string> owners;
  for (const ListedObject& object : listing->objects) {
    if (object.key.starts_with(kFolder)) owners.push_back(object.key.substr(kFolder.size()));
  }
  return owners;
}

base::Status put_owner(Client& client, const std::string& owner) {
  const base::Fd file(::memfd_create("owner", MFD_CLOEXEC));
  if (::write(file.get(), kText.data(), kText.size()) != static_cast<ssize_t>(kText.size()))
    return base::error(base::Code::kInternal, "no memory for the owner of the objects");
  return client.put(std::string(kFolder) + owner, file.get(), static_cast<std::int64_t>(kText.size()),
                    base::hex(base::sha256(kText)));
}

base::Error of_another_store(const std::string& owner) {
  return base::error(
      base::Code::kInvalidState,
      "blobs.url: the objects there belong to another store (" + owner +
          "), whose documents this one would remove; set another bucket or prefix. If this store "
          "replaces that one for good, `millrace store take-bucket` hands the objects over");
}

// The other owner, if there is one.
std::optional<std::string> other_owner(const std::vector<std::string>& owners, const std::string& own) {
  const auto other = std::ranges::find_if(owners, [&](const std::string& each) { return each != own; });
  return other == owners.end() ? std::nullopt : std::optional(*other);
}

}  // namespace

// Two that come at once see each other after they have stored their names.
base::Status claim_objects(Client& client, const std::string& owner) {
  auto owners = owners_of(client);
  if (owners && owners->empty()) {
    if (auto stored = put_owner(client, owner); !stored) return stored;
    owners = owners_of(client);
  }
  if (!owners) return owners.error();
  if (const auto other = other_owner(*owners, owner)) return of_another_store(*other);
  return {};
}

base::Status take_objects(Client& client, const std::string& owner) {
  const auto owners = owners_of(client);
  if (!owners) return owners.error();
  if (auto stored = put_owner(client, owner); !stored) return stored;
  for (const std::string& each : *owners) {
    if (each == owner) continue;
    if (auto removed = client.remove(std::string(kFolder) + each); !removed) return removed;
  }
  return {};
}

}  // namespace millrace::s3
