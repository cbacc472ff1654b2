/* What the files of the report of `describe` share. */
#ifndef PW_REPORT_DESCRIBE_INTERNAL_H
#define PW_REPORT_DESCRIBE_INTERNAL_H

#include "scenarios/report/report.h"
#include "sim/json.h"

/* Switches, cables, generations of links, what the cables draw and cost. */
void describe_wiring_text(const pw_describe_report *report, pw_file *file);
void describe_wiring_json(const pw_describe_report *report, pw_json *json);

/* What nodes draw, part by part; all nodes and switches. */
void describe_power_text(const pw_describe_report *report, pw_file *file);
void describe_power_json(const pw_describe_report *report, pw_json *json);

#endif
