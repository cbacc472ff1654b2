/* Names of segments in records: what report.c writes and blame.c reads. Internal. */
#ifndef PW_MODELS_PROGRAM_REPORT_H
#define PW_MODELS_PROGRAM_REPORT_H

#include "models/program/program.h"

/* repeated[s]: another segment has the same name. False when memory is out. */
bool pw_segments_repeated(const pw_allocator *allocator, const pw_job *job, bool *repeated);
void pw_segment_label(const pw_job *job, uint32_t segment, bool repeated, char *text, size_t size);

#endif
