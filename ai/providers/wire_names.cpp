#include "ai/providers/wire_names.h"

#include <algorithm>
#include <array>
#include <set>

#include "ai/providers/json_schema.h"
#include "ai/providers/unique_names.h"

namespace millrace::providers {
namespace {

constexpr std::array<const char*, 2> kKinds{"function", "custom"};

bool is_name_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80U; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string fitted(const NameRule& rule, std::string_view name) {
  std::string made;
  for (const char c : name) {
    const bool is_kept =
        is_name_letter(c) || (c >= '0' && c <= '9') || rule.others.find(c) != std::string_view::npos;
    if (is_kept) {
      made.push_back(c);
    } else if (!continues_character(c)) {
      made.push_back('_');
    }
  }
  const bool is_begun =
      !made.empty() && (!rule.begins_with_letter || is_name_letter(made[0]) || made[0] == '_');
  if (!is_begun) made.insert(made.begin(), '_');
  return made.substr(0, rule.bytes_max);
}

// Gives each name one that fits. Names that fit keep theirs.
class Fitter {
 public:
  explicit Fitter(const NameRule& rule) : rule_(rule), sent_(rule.bytes_max) {}

  void add(std::string_view name) {
    if (rule_.bytes_max == 0) return;
    if (fits(rule_, name)) {
      sent_.take(name);
    } else if (seen_.emplace(name).second) {
      unfit_.emplace_back(name);
    }
  }

  bool has_unfit() const { return !unfit_.empty(); }

  MemberNames finish() {  // given name → sent name
    MemberNames names;
    for (const std::string& name : unfit_) names.emplace(name, sent_.add(fitted(rule_, name)));
    return names;
  }

 private:
  const NameRule rule_;
  UniqueNames sent_;
  std::set<std::string, std::less<>> seen_;
  std::vector<std::string> unfit_;  // in the order in which they came
};

void rename_text(const MemberNames& names, Json& value) {
  if (value.is_string()) value = renamed(names, value.get_ref<const std::string&>());
}

// A JSON pointer through properties that are renamed.
std::string renamed_reference(const MemberNames& names, std::string_view reference) {
  std::string made;
  std::string_view of;  // the keyword whose member comes next; empty: a keyword comes next
  while (!reference.empty()) {
    const std::size_t end = std::min(reference.find('/', 1), reference.size());
    const std::string_view step = reference.substr(0, end);
    reference.remove_prefix(end);
    const std::string name = unescaped_step(step.substr(1));
    const bool is_renamed = (of == "properties" || of == "dependentSchemas") && names.contains(name);
    made.append(is_renamed ? "/" + renamed(names, name) : step);
    const SchemaKeyword* keyword = of.empty() ? schema_keyword(name) : nullptr;
    const bool has_members = keyword != nullptr && (keyword->form == SchemaForm::kNamedSchemas ||
                                                    keyword->form == SchemaForm::kSchemas);
    of = has_members ? keyword->name : std::string_view();
  }
  return made;
}

// A name that lost letters stays in the description.
void describe(const std::string& given, const std::string& sent, Json& schema) {
  const bool is_legible = std::ranges::all_of(given, is_ascii) && given.size() <= sent.size();
  if (is_legible || !schema.is_object()) return;
  const std::string_view old = text_of(schema, "description");
  schema["description"] = given + (old.empty() ? "" : ": ") + std::string(old);
}

// The members of a schema's own values. REQUIRES: the schemas still have the names before.
void rename_values(const MemberNames& names, Json& root, std::size_t& steps_left) {
  const Json before = root;
  each_schema(root, [&](Json& each) {
    for (const char* keyword : {"default", "const"}) {
      if (const auto value = each.find(keyword); value != each.end())
        rename_declared(names, before, each, *value, steps_left);
    }
    for (const char* keyword : {"examples", "enum"}) {
      const auto values = each.find(keyword);
      if (values == each.end() || !values->is_array()) continue;
      for (Json& value : *values) rename_declared(names, before, each, value, steps_left);
    }
  });
}

void rename_lists(const MemberNames& names, Json& schema) {
  for (const char* keyword : {"required", "propertyOrdering"}) {
    const auto list = schema.find(keyword);
    if (list == schema.end() || !list->is_array()) continue;
    for (Json& name : *list) rename_text(names, name);
  }
  for (const char* keyword : {"dependentRequired", "dependentSchemas"}) {
    const auto dependent = schema.find(keyword);
    if (dependent == schema.end() || !dependent->is_object()) continue;
    rename_members(names, *dependent);
    for (Json& list : *dependent) {
      if (!list.is_array()) continue;
      for (Json& name : list) rename_text(names, name);
    }
  }
}

void rename_in_schema(const MemberNames& names, Json& schema, std::size_t& steps_left) {
  rename_values(names, schema, steps_left);
  each_schema(schema, [&](Json& each) {
    if (const auto properties = each.find("properties");
        properties != each.end() && properties->is_object()) {
      for (auto& [name, value] : properties->items()) {
        if (const auto found = names.find(name); found != names.end()) describe(name, found->second, value);
      }
      rename_members(names, *properties);
    }
    rename_lists(names, each);
    if (const auto reference = each.find("$ref");
        reference != each.end() && text_of(&*reference).starts_with('#'))
      *reference = "#" + renamed_reference(names, text_of(&*reference).substr(1));
  });
}

// Calls `visit` with each tool, call or choice of a tool in the request: the object that has its name, and
// whether it is a declaration, a call or a choice.
enum class NameUse : std::uint8_t { kTool, kCall, kChoice };

template <class Value, class Visit>
void visit_kinds(Value& object, NameUse use, Visit&& visit) {
  if (!object.is_object()) return;
  for (const char* kind : kKinds) {
    const auto found = object.find(kind);
    if (found != object.end() && found->is_object()) visit(use, *found);
  }
}

template <class Value, class Visit>
void visit_list(Value& object, const char* name, NameUse use, Visit&& visit) {
  if (!object.is_object()) return;
  const auto list = object.find(name);
  if (list == object.end() || !list->is_array()) return;
  for (auto& each : *list) visit_kinds(each, use, visit);
}

template <class Value, class Visit>
void visit_names(Value& body, Visit&& visit) {
  if (!body.is_object()) return;
  visit_list(body, "tools", NameUse::kTool, visit);
  if (const auto messages = body.find("messages"); messages != body.end() && messages->is_array()) {
    for (auto& message : *messages) {
      visit_list(message, "tool_calls", NameUse::kCall, visit);
      if (message.is_object() && text_of(message, "role") == "tool") visit(NameUse::kChoice, message);
    }
  }
  const auto choice = body.find("tool_choice");
  if (choice == body.end() || !choice->is_object()) return;
  visit_kinds(*choice, NameUse::kChoice, visit);
  if (text_of(*choice, "type") == "function") visit(NameUse::kChoice, *choice);
  visit_list(*choice, "tools", NameUse::kChoice, visit);
  if (const auto allowed = choice->find("allowed_tools"); allowed != choice->end())
    visit_list(*allowed, "tools", NameUse::kChoice, visit);
}

// The fitted names of one request.
class RequestNames {
 public:
  // `body` outlives it.
  RequestNames(Dialect dialect, const Json& body)
      : tool_rule_(tool_name_rule(dialect)), member_rule_(member_name_rule(dialect)) {
    Fitter tools(tool_rule_);
    visit_names(body, [&](NameUse use, const Json& named) {
      const std::string_view name = text_of(named, "name");
      if (!name.empty()) tools.add(name);
      if (use == NameUse::kTool) add_members(name, member(named, "parameters"));
    });
    tools_ = tools.finish();
  }

  bool has_any() const { return !tools_.empty() || !members_.empty(); }

  // Whether it changed tools, not only messages.
  bool rewrite(Json& body) const {
    bool changes_tools = false;
    std::size_t steps_left = kRequestDeclaredStepsMax;
    visit_names(body, [&](NameUse use, Json& named) {
      const std::string given(text_of(named, "name"));
      if (given.empty()) return;
      const auto known = members_.find(given);
      changes_tools =
          changes_tools || (use == NameUse::kTool && (tools_.contains(given) || known != members_.end()));
      rename_text(tools_, named["name"]);
      if (known == members_.end()) return;
      const Members& members = known->second;
      if (use == NameUse::kTool) rename_in_schema(members.names, named["parameters"], steps_left);
      const auto arguments = named.find("arguments");
      if (use == NameUse::kCall && arguments != named.end() && arguments->is_string())
        *arguments = renamed_arguments(members.names, *members.parameters,
                                       arguments->get_ref<const std::string&>(), steps_left);
    });
    return changes_tools;
  }

  WireNames to_restore() const {
    std::map<std::string, WireNames::Tool, std::less<>> tools;
    std::size_t steps_left = kRequestDeclaredStepsMax;
    for (const auto& [given, sent] : tools_) tools[sent].given = given;
    for (const auto& [given, members] : members_) {
      WireNames::Tool& tool = tools[renamed(tools_, given)];
      tool.given = given;
      for (const auto& [name, sent] : members.names) tool.members.emplace(sent, name);
      Json parameters = *members.parameters;
      rename_in_schema(members.names, parameters, steps_left);
      tool.parameters = std::make_shared<const Json>(std::move(parameters));
    }
    return WireNames(std::move(tools));
  }

 private:
  void add_members(std::string_view tool, const Json* parameters) {
    if (parameters == nullptr || member_rule_.bytes_max == 0) return;
    Fitter fitter(member_rule_);
    each_schema(*parameters, [&](const Json& schema) {
      const Json* properties = member(schema, "properties");
      if (properties == nullptr || !properties->is_object()) return;
      for (const auto& [name, value] : properties->items()) fitter.add(name);
    });
    if (fitter.has_unfit()) members_[std::string(tool)] = {fitter.finish(), parameters};
  }

  struct Members {
    MemberNames names;                 // given name → sent name
    const Json* parameters = nullptr;  // of the body that this was made for
  };

  const NameRule tool_rule_, member_rule_;
  MemberNames tools_;                                    // given name → sent name
  std::map<std::string, Members, std::less<>> members_;  // by the tool's given name
};

}  // namespace

NameRule tool_name_rule(Dialect dialect) {
  constexpr std::size_t kBytesMax = 64;
  switch (dialect) {
    case Dialect::kGemini:
      return {.bytes_max = kBytesMax, .begins_with_letter = true, .others = "_.-"};
    case Dialect::kOpenai:
    case Dialect::kAnthropic:
    case Dialect::kXai:
    case Dialect::kMistral:
    case Dialect::kGroq:
      return {.bytes_max = kBytesMax, .others = "_-"};
    case Dialect::kLocal:
    case Dialect::kMock:
      break;
  }
  return {};
}

NameRule member_name_rule(Dialect dialect) {
  constexpr std::size_t kBytesMax = 64;
  if (dialect == Dialect::kAnthropic) return {.bytes_max = kBytesMax, .others = "_.-"};
  if (dialect == Dialect::kGemini) return {.bytes_max = kBytesMax, .begins_with_letter = true, .others = "_"};
  return {};
}

bool fits(const NameRule& rule, std::string_view name) {
  if (rule.bytes_max == 0) return true;
  return name.size() <= rule.bytes_max && fitted(rule, name) == name;
}

const WireNames::Tool* WireNames::find(std::string_view sent) const {
  const auto found = tools_.find(sent);
  return found == tools_.end() ? nullptr : &found->second;
}

bool fit_name(const NameRule& rule, Json& name) {
  const std::string_view given = text_of(&name);
  if (given.empty() || fits(rule, given)) return false;
  name = fitted(rule, given);
  return true;
}

std::string WireNames::given_arguments(const Tool& tool, const std::string& arguments) {
  if (tool.members.empty()) return arguments;
  std::size_t steps_left = kDeclaredStepsMax;
  return renamed_arguments(tool.members, *tool.parameters, arguments, steps_left);
}

void WireNames::restore(schemas::ChatReply& reply) const {
  for (schemas::ChatChoice& choice : reply.choices) {
    for (schemas::ToolCall& call : choice.tool_calls) {
      const Tool* tool = find(call.name);
      if (tool == nullptr) continue;
      call.name = tool->given;
      call.arguments = given_arguments(*tool, call.arguments);
    }
  }
}

void WireNames::restore(schemas::ChatPiece& piece) {
  if (tools_.empty()) return;
  for (schemas::ToolCallPiece& call : piece.tool_calls) {
    const std::pair<int, int> place(piece.index, call.index);
    if (const Tool* tool = call.name.empty() ? nullptr : find(call.name)) {
      call.name = tool->given;
      if (!tool->members.empty()) held_[place].tool = tool;
    }
    if (const auto held = held_.find(place); held != held_.end())
      held->second.arguments += std::exchange(call.arguments, {});
  }
  std::erase_if(piece.tool_calls, [](const schemas::ToolCallPiece& call) {
    return call.id.empty() && call.name.empty() && call.arguments.empty() && call.extra.is_null();
  });
  if (piece.finish_reason.empty()) return;
  for (auto held = held_.lower_bound({piece.index, 0});
       held != held_.end() && held->first.first == piece.index;) {
    piece.tool_calls.push_back({.index = held->first.second,
                                .arguments = given_arguments(*held->second.tool, held->second.arguments)});
    held = held_.erase(held);
  }
}

std::vector<schemas::ChatPiece> WireNames::take_held() {
  std::vector<schemas::ChatPiece> pieces;
  for (auto& [place, held] : std::exchange(held_, {})) {
    schemas::ChatPiece& piece = pieces.emplace_back();
    piece.index = place.first;
    piece.tool_calls.push_back(
        {.index = place.second, .arguments = given_arguments(*held.tool, held.arguments)});
  }
  return pieces;
}

std::optional<FittedRequest> fit_names(Dialect dialect, const schemas::ChatRequest& request) {
  if (!request.quick.empty() || tool_name_rule(dialect).bytes_max == 0) return std::nullopt;
  const RequestNames names(dialect, request.body);
  if (!names.has_any()) return std::nullopt;
  FittedRequest made{.request = request, .names = names.to_restore(), .parameter = {}};
  made.parameter = names.rewrite(made.request.body) ? "tools" : "messages";
  return made;
}

}  // namespace millrace::providers
