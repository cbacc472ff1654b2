/* A training result in the words of a report.
 */
#ifndef PW_JOBS_TRAIN_H
#define PW_JOBS_TRAIN_H

#include "models/workload/train.h"
#include "scenarios/report/result.h"

/* Everything but result->arena, which is set, is filled; texts of train (parts, program names) must outlive result. */
void pw_job_report_train(const pw_train_desc *job, const pw_train_result *train, pw_run_result *result);

#endif
