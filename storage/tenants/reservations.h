#pragma once
#include <cstdint>
#include <optional>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "schemas/tenants/money.h"
#include "storage/jobs/job_rows.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/writer/writer.h"

// Inside storage: money of owners with a hard budget, reserved for the calls of their jobs and requests
// (ADR 47). A reservation is made when the job is accepted. It covers the calls that are sent; a call that it
// does not cover extends it. When an attempt ends, its cost is charged: what it reported, or else the most
// that the calls it sent may cost. Spent and reserved together never exceed a budget.
namespace millrace::storage {

// The refusal if the owner has a hard budget that does not allow `cost_max`. Absent `cost_max`: the cost is
// unknown, so a budget refuses it.
std::optional<base::Error> budget_refusal(Tx& tx, const Owner& owner,
                                          std::optional<schemas::NanoUsd> cost_max);
// Reserves the row's cost_max for a new root job if its owner has a hard budget. REQUIRES: budget_refusal
// allowed it.
void reserve_for_job(Tx& tx, const JobRow& row);
// The time of a scheduled job has come. Its reservation counts from now on for today; its error is the
// refusal of today's budget, and the reservation is as it was.
base::Status reserve_at_start(Tx& tx, const JobRow& row);
// True: calls of the job are paid from a reservation, its own or its root's.
bool has_reservation(Db& db, const JobRow& row);
// For the functions that read the reservation of this job.
void prefetch_reservation(Db& db, const base::Uuid& job);
// The attempt of `row` is about to send a call; with it, its calls may cost `attempt_max`. Its error refuses
// the call. A job without a reservation was accepted without a budget: it may call.
base::Status reserve_call(Tx& tx, const JobRow& row, std::optional<schemas::NanoUsd> attempt_max);
// An attempt of the job has ended, or a job that did not run. Charges `used`, or, if it is absent, everything
// that was sent. `ended`: the job's reservation is released. Otherwise the next attempt reserves again; its
// error is the refusal, and nothing is reserved then.
base::Status settle_attempt(Tx& tx, const JobRow& row, const std::optional<schemas::Charge>& used,
                            bool ended);

// A direct request: the same with an id of its own. `holder` is the process that answers it.
void reserve_for_request(Tx& tx, const base::Uuid& id, const Owner& owner, schemas::NanoUsd cost_max,
                         const base::Uuid& holder);
// kBudgetExceeded: the budget does not allow `more`. kNotFound: the reservation has expired.
base::Status extend_request(Tx& tx, const base::Uuid& id, schemas::NanoUsd more);
// Nothing happens if the reservation has expired: it was charged then.
void settle_request(Tx& tx, const base::Uuid& id, const schemas::Charge& used);
// The holder lives: its reservations expire kReservationLife from now.
void renew_reservations(Tx& tx, const base::Uuid& holder);
// Charges reservations of processes that are gone in full. At most `budget`; returns how many.
int settle_abandoned(Tx& tx, int budget);
inline constexpr std::chrono::milliseconds kReservationLife = std::chrono::seconds(90);

}  // namespace millrace::storage
