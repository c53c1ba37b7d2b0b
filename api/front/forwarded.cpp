#include "api/front/forwarded.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "api/front/characters.h"

namespace millrace::front {
namespace {

using Texts = std::vector<std::string_view>;

enum class Quotes : bool { kPlain, kQuoting };

// Splits at `mark`; with kQuoting only outside quotes.
void split(std::string_view text, char mark, Quotes quotes, Texts& out) {
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '"') quoted = quotes == Quotes::kQuoting && !quoted;
    if (i < text.size() && (quoted || text[i] != mark)) continue;
    out.push_back(without_blanks(text.substr(begin, i - begin)));
    begin = i + 1;
  }
}

// The elements of all headers with this name, in order.
Texts elements(const Head& head, std::string_view name, Quotes quotes) {
  Texts out;
  for (const Header& header : head.headers) {
    if (same_name(header.name, name)) split(header.value, ',', quotes, out);
  }
  return out;
}

// The value of `for=` in an element of Forwarded, without quotes.
std::string_view for_value(std::string_view element) {
  constexpr std::string_view kFor = "for=";
  Texts pairs;
  split(element, ';', Quotes::kQuoting, pairs);
  for (std::string_view pair : pairs) {
    if (!same_name(pair.substr(0, kFor.size()), kFor)) continue;
    pair.remove_prefix(kFor.size());
    if (pair.size() >= 2 && pair.front() == '"' && pair.back() == '"') pair = pair.substr(1, pair.size() - 2);
    return pair;
  }
  return {};
}

// ADDRESS, ADDRESS:PORT with IPv4, [ADDRESS] or [ADDRESS]:PORT.
std::optional<base::IpAddress> address_of(std::string_view node) {
  if (node.starts_with('[')) return base::IpAddress::parse(node.substr(1, node.find(']') - 1));
  if (std::ranges::count(node, ':') == 1) node = node.substr(0, node.find(':'));
  return base::IpAddress::parse(node);
}

Texts nodes_in(const Head& head, ForwardedHeader from) {
  if (from == ForwardedHeader::kXForwardedFor) return elements(head, "x-forwarded-for", Quotes::kPlain);
  Texts nodes = elements(head, "forwarded", Quotes::kQuoting);
  std::ranges::transform(nodes, nodes.begin(), for_value);
  return nodes;
}

}  // namespace

std::string forwarded_client(const Head& head, const std::string& peer,
                             const std::vector<base::IpRange>& trusted, ForwardedHeader from) {
  const Texts nodes = nodes_in(head, from);
  std::string client = peer;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const auto address = address_of(*node);
    if (!address) break;
    client = address->str();
    if (!base::contains(trusted, *address)) break;
  }
  return client;
}

}  // namespace millrace::front
