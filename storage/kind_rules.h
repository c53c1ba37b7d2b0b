#pragma once
#include <algorithm>
#include <string_view>

#include "schemas/job.h"

// Inside storage: in what the rows of one kind differ from those of another.
namespace millrace::storage {

struct KindRules {
  // Jobs may have sealed bytes in job_secrets while they are open. Kinds that have none pay no statement for
  // it.
  bool keeps_secrets = false;
  // Results are small and stay as long as the job's row (contract.md §1).
  bool result_stays = false;
  // Events carry output: up to megabytes of a job, where the others have a few short ones.
  bool tells_output = false;
  // Files that a job leaves are kept beside it.
  bool leaves_artifacts = false;
  // The type of the event that tells of a part that is stored.
  std::string_view part_event = "page";
  // Jobs run on machines: their lane is the machine's id, and they may wait for it.
  bool runs_on_machine = false;
  // Jobs run in lanes, by their model: claims may pass over the lanes that are full (ClaimLanes).
  bool has_lanes = false;
  // Every job has an input, which goes with a failure that is its own fault: nothing of a bad recording
  // stays, and there is nothing to run again.
  bool drops_bad_input = false;
  // Jobs are the store's own doing: acts of machines, whose ends move these. Lists leave them out unless they
  // are asked for.
  bool internal = false;
};

constexpr KindRules kind_rules(schemas::Kind kind) {
  switch (kind) {
    case schemas::Kind::kOcr:
      return {};
    case schemas::Kind::kStt:
      return {.part_event = "piece", .drops_bad_input = true};
    case schemas::Kind::kChat:
      return {.has_lanes = true};
    case schemas::Kind::kExec:
      return {.keeps_secrets = true,
              .result_stays = true,
              .tells_output = true,
              .leaves_artifacts = true,
              .runs_on_machine = true};
    case schemas::Kind::kMachine:
      return {.internal = true};
  }
  return {};
}

static_assert(std::ranges::all_of(schemas::kKinds,
                                  [](schemas::Kind kind) {
                                    const KindRules rules = kind_rules(kind);
                                    return schemas::can_be_retried(kind) ==
                                           (!rules.keeps_secrets && !rules.internal);
                                  }),
              "what is sealed does not outlive its job");

}  // namespace millrace::storage
