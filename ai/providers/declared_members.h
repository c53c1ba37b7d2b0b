#pragma once
#include <map>
#include <string>

#include "ai/providers/json_access.h"

// Renames members of values where a schema names them: as properties, or in `required`, `dependentRequired`,
// `dependentSchemas` and `propertyOrdering`. Other names in free maps (additionalProperties,
// patternProperties) are the caller's data and stay, even if they equal one of `names`.
namespace millrace::providers {

using MemberNames = std::map<std::string, std::string, std::less<>>;  // name before → name after

const std::string& renamed(const MemberNames& names, const std::string& name);
// Renames the members of this object, and keeps their order. True: there were some.
bool rename_members(const MemberNames& names, Json& object);

// `schema`, a part of `root`, describes `value`; both have the names before. Of alternatives those count that
// the value's types, constants and members fit; all, if none does. True: something was renamed. `steps_left`
// is reduced by the steps that were taken.
bool rename_declared(const MemberNames& names, const Json& root, const Json& schema, Json& value,
                     std::size_t& steps_left);
// Steps through schemas, members and listed values (large ones take several): for one value, and for all
// values of one request. Beyond them, each member whose name is in `names` is renamed.
inline constexpr std::size_t kDeclaredStepsMax = 100'000;
inline constexpr std::size_t kRequestDeclaredStepsMax = 10 * kDeclaredStepsMax;

// The same for JSON text. Text without such members is returned as it is.
std::string renamed_arguments(const MemberNames& names, const Json& root, const std::string& arguments,
                              std::size_t& steps_left);

}  // namespace millrace::providers
