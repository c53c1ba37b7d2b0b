#include "machines/revocation_list.h"

#include <algorithm>

#include "machines/ssh_wire.h"

namespace millrace::machines {
namespace {

constexpr std::uint64_t kListMagic = 0x5353484b524c0a00;  // "SSHKRL\n\0"
constexpr std::uint32_t kFormat = 1;
constexpr std::uint8_t kCertificates = 1;
constexpr std::uint8_t kSerialList = 0x20, kSerialRange = 0x21;

// Serials one by one, and runs of them, as two kinds of sections.
std::string sections_of(const std::vector<std::uint64_t>& serials) {
  WireWriter sections, singles;
  for (std::size_t at = 0; at < serials.size();) {
    std::size_t last = at;
    while (last + 1 < serials.size() && serials[last + 1] == serials[last] + 1) ++last;
    if (last == at) {
      singles.u64(serials[at]);
    } else {
      sections.u8(kSerialRange).string(WireWriter().u64(serials[at]).u64(serials[last]).bytes());
    }
    at = last + 1;
  }
  if (!singles.bytes().empty()) sections.u8(kSerialList).string(singles.bytes());
  return sections.take();
}

}  // namespace

std::string key_revocation_list(std::string_view ca, std::vector<std::uint64_t> serials,
                                std::uint64_t version, base::WallTime now) {
  std::sort(serials.begin(), serials.end());
  serials.erase(std::unique(serials.begin(), serials.end()), serials.end());
  if (!serials.empty() && serials.front() == 0) serials.erase(serials.begin());
  const auto seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(base::millis(now), 0) / 1000);
  WireWriter list;
  list.u64(kListMagic).u32(kFormat).u64(version).u64(seconds).u64(0).string("").string("millrace");
  if (serials.empty()) return list.take();
  WireWriter section;
  section.string(ca).string("").raw(sections_of(serials));
  list.u8(kCertificates).string(section.bytes());
  return list.take();
}

std::optional<std::uint64_t> revocation_list_version(std::string_view head) {
  WireReader list(head);
  if (list.u64() != kListMagic || list.u32() != kFormat) return std::nullopt;
  return list.u64();
}

}  // namespace millrace::machines
