#include "storage/s3/owner.h"

#include <algorithm>
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

std::string_view identity_of_owner(std::string_view owner) { return owner.substr(0, owner.find('.')); }

bool is_moved(const std::string& from, const std::string& to) {
  constexpr std::string_view kOneHost = ".sqlite";
  return identity_of_owner(from) == identity_of_owner(to) &&
         (from.ends_with(kOneHost) || to.ends_with(kOneHost));
}

}  // namespace

base::Status claim_objects(Client& client, const std::string& owner) {
  const auto owners = owners_of(client);
  if (!owners) return owners.error();
  if (std::ranges::find(*owners, owner) != owners->end()) return {};
  const bool may_take =
      std::ranges::all_of(*owners, [&](const std::string& each) { return is_moved(each, owner); });
  if (may_take) return take_objects(client, owner);
  return base::error(
      base::Code::kInvalidState,
      "blobs.url: the objects there belong to another store (" + owners->front() +
          "), whose documents this one would remove; set another bucket or prefix. If this database "
          "replaces that one for good, `millrace store take-bucket` hands the objects over");
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
