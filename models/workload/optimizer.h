/* Optimizers: rows of the catalogue's table `optimizers`. Bytes are per parameter and in fp32, beside what a software stack
 * keeps and moves for 16-bit weights (copies, casts), which its row counts for AdamW.
 */
#ifndef PW_MODELS_WORKLOAD_OPTIMIZER_H
#define PW_MODELS_WORKLOAD_OPTIMIZER_H

#include "models/catalogue/catalogue.h"

typedef struct pw_optimizer {
    const char *name, *text, *source;
    double state_bytes;   /* kept beside weight and gradient */
    bool factored;        /* and 4 bytes for every row and column of a matrix */
    double update_bytes;  /* moved by an update */
    double tensor_kernels; /* of every tensor; 0: as many for all as the stack says */
    bool shards;          /* ranks can update shares of a tensor on their own */
} pw_optimizer;

/* Fails with PW_NOT_FOUND and the known names, or with file:line on a cell that is out of range. */
pw_status pw_optimizer_read(const pw_catalogue *catalogue, const char *name, pw_optimizer *optimizer, const char *file,
                            int line, pw_error *error);

#endif
