#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/providers/declared_members.h"
#include "ai/providers/families.h"
#include "ai/providers/json_access.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

namespace millrace::providers {

// What a provider demands of a name.
struct NameRule {
  std::size_t bytes_max = 0;        // 0: any name
  bool begins_with_letter = false;  // or '_'
  std::string_view others = {};     // characters besides ASCII letters and digits
};
NameRule tool_name_rule(Dialect dialect);
NameRule member_name_rule(Dialect dialect);  // of properties of a tool's schema
bool fits(const NameRule& rule, std::string_view name);
// Changes a name that does not fit. `name` is text that is not empty; otherwise nothing is done.
bool fit_name(const NameRule& rule, Json& name);

// Names that were fitted to a provider's rules, and the names that the client gave. Restores the latter in
// the answer. For one call; not thread-safe.
class WireNames {
 public:
  struct Tool {
    std::string given;
    MemberNames members = {};  // sent name → given name
    std::shared_ptr<const Json> parameters =
        nullptr;  // that declare them by the sent names; null: no members
  };

  WireNames() = default;
  explicit WireNames(std::map<std::string, Tool, std::less<>> tools) : tools_(std::move(tools)) {}

  void restore(schemas::ChatReply& reply) const;
  // The arguments of a call with fitted members are held until the choice has finished.
  void restore(schemas::ChatPiece& piece);
  // At the end of a stream: what is still held.
  std::vector<schemas::ChatPiece> take_held();

 private:
  struct Held {
    const Tool* tool = nullptr;
    std::string arguments = {};
  };
  const Tool* find(std::string_view sent) const;
  static std::string given_arguments(const Tool& tool, const std::string& arguments);

  std::map<std::string, Tool, std::less<>> tools_;  // by the sent name
  std::map<std::pair<int, int>, Held> held_;        // by choice and call
};

struct FittedRequest {
  schemas::ChatRequest request;
  WireNames names;
  std::string parameter;  // to be reported as clamped
};
// The request with names of tools and of members of their arguments that `dialect` accepts: in tools,
// tool_choice and earlier calls. Different names stay different, and the same request gives the same names.
// nullopt: nothing has to change.
std::optional<FittedRequest> fit_names(Dialect dialect, const schemas::ChatRequest& request);

}  // namespace millrace::providers
