/* What measured collectives may be ill of: each table of measurements against the model of the hardware that it names, and against
 * itself.
 *
 * Three numbers of a table are compared with the rows of the catalogue's table collective-flags, which give limits and words:
 *
 *   slow     median of measured over predicted time, over the six largest sizes from 64 MB on (the two largest from 1 MB on where
 *            there is none); 1 where podwright agrees
 *   falls    largest time of a size from 1 MB on over that of a larger size
 *   uneven   largest over median of measured over predicted time, over sizes from 256 MB on (three at least)
 */
#ifndef PW_SCENARIOS_VALIDATION_COLLECTIVE_FLAGS_H
#define PW_SCENARIOS_VALIDATION_COLLECTIVE_FLAGS_H

#include "scenarios/validation/validation.h"

typedef enum pw_flag_measure { PW_FLAG_SLOW, PW_FLAG_FALLS, PW_FLAG_UNEVEN, PW_FLAG_MEASURE_COUNT } pw_flag_measure;
extern const char *const pw_flag_measure_names[]; /* NULL-terminated */

typedef struct pw_flag {
    const char *name, *text; /* of the catalogue */
    double value;
} pw_flag;

typedef struct pw_diagnosis {
    const char *table_id, *health; /* health as the file says; "" */
    const char *side;              /* of its family: "fit", "check" or "" */
    int line;                      /* of its first row */
    uint32_t rows;
    double values[PW_FLAG_MEASURE_COUNT]; /* NaN: it has too few sizes, or no prediction */
    char why[400];                        /* not "": there is no prediction, and why */
    pw_flag flags[PW_FLAG_MEASURE_COUNT];
    uint32_t flag_count;
} pw_diagnosis;

/* How well flags find what is known: over tables whose health is on file. */
typedef struct pw_flag_score {
    uint32_t ill, found;      /* degraded or pathological; of them flagged */
    uint32_t healthy, wrong;  /* healthy; of them flagged */
} pw_flag_score;

/* Diagnoses every table of a file with the columns table_id, gpu, nodes, gpus_per_node, collective, size_bytes, time_us; data NULL:
 * the one that ships. *diagnoses lies in arena. */
pw_status pw_collective_diagnose(const pw_catalogue *catalogue, const char *data, pw_arena *arena, pw_diagnosis **diagnoses,
                                 uint32_t *count, pw_error *error);
/* side NULL: all. */
pw_flag_score pw_flag_score_of(const pw_diagnosis *diagnoses, uint32_t count, const char *side);
/* One line per flagged table, then the scores where health is on file. */
void pw_collective_flags_write_text(const pw_diagnosis *diagnoses, uint32_t count, pw_file *file);
/* table_id,health,side,rows,slow,falls,uneven,flags */
void pw_collective_flags_write_csv(const pw_diagnosis *diagnoses, uint32_t count, pw_file *file);

#endif
