#pragma once
#include <algorithm>
#include <string_view>

#include "schemas/jobs/job.h"

// Inside storage: how the rows of one kind differ from those of another.
namespace millrace::storage {

struct KindRules {
  // Jobs may have sealed bytes in job_secrets while they are open. Kinds without secrets need no statement
  // for it.
  bool keeps_secrets = false;
  // Results are small and stay as long as the job's row (docs/design/http-contract.md §1). A cancelled job
  // has one too: it shows what the job has done.
  bool keeps_result = false;
  // Events carry output: up to megabytes per job. Other kinds have only a few short events.
  bool events_carry_output = false;
  // The files that a job produces are stored with it as artifacts.
  bool has_artifacts = false;
  // The type of the event for a stored part.
  std::string_view part_event = "page";
  // Jobs run on machines: their lane is the machine's id, and they may wait until the machine is awake.
  bool runs_on_machine = false;
  // Jobs run in lanes, one per model; claims may skip full lanes (ClaimLanes).
  bool has_lanes = false;
  // Every job has an input. If the job fails because of its input, the input is deleted: nothing of a bad
  // recording is kept, and the job cannot run again.
  bool drops_bad_input = false;
  // The parts are pages of documents, which count for pages_per_day as soon as their number is known.
  bool counts_pages = false;
  // Jobs are created by the store itself: machine operations, whose ends update the machines. Lists omit them
  // unless they are requested.
  bool internal = false;
};

constexpr KindRules kind_rules(schemas::Kind kind) {
  switch (kind) {
    case schemas::Kind::kOcr:
      return {.counts_pages = true};
    case schemas::Kind::kStt:
      return {.part_event = "piece", .drops_bad_input = true};
    case schemas::Kind::kChat:
      return {.has_lanes = true};
    case schemas::Kind::kExec:
      return {.keeps_secrets = true,
              .keeps_result = true,
              .events_carry_output = true,
              .has_artifacts = true,
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
