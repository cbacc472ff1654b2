/* Measured kernels as the fits take them: one array per table, sides from a split file, groups by who measured what. */
#ifndef PW_CALIBRATE_FIT_MEASUREMENTS_H
#define PW_CALIBRATE_FIT_MEASUREMENTS_H

#include "models/catalogue/catalogue.h"

/* Rows of one device, precision and software stack, in file order. */
typedef struct pw_fit_group {
    const pw_device *device;
    pw_precision precision;
    char gpu[64], stack[64];
    bool primary; /* its stack is the one that is fitted; others only check */
    size_t first, rows; /* in the sorted array of rows */
} pw_fit_group;

typedef struct pw_kernel_row {
    size_t group;
    bool check; /* by the split: judges the fit, never shapes it */
    double loop_before, loop_timed; /* launches without a pause before and while it was timed; 0: not on file */
    bool throttled; /* launched for so long without a pause that a power cap can have lowered the clock */
    bool cached; /* faster than the data sheet's bandwidth allows: operands stayed in cache */
    double seconds;
    double m, n, k;                                                        /* gemm */
    double batch, queries, keys, heads, kv_heads, head_dim;                /* attention */
    bool causal, forward, backward;                                        /* passes that the time holds */
} pw_kernel_row;

typedef struct pw_measurements {
    const pw_allocator *allocator;
    pw_kernel_row *rows;
    size_t count, capacity;
    pw_fit_group *groups;
    size_t group_count, group_capacity;
    size_t skipped; /* rows of devices the catalogue does not have */
} pw_measurements;

/* gpu,stack,dtype,m,n,k,latency_us with sides n,k,side. primary: the beginning of the fitted stack's name. loop: how often a
 * kernel of each stack is launched (stack,gemm_before,gemm_timed; a stack is the beginning of a name). */
pw_status pw_measurements_read_gemm(const char *file, const char *split, const char *loop, const char *primary,
                                    const pw_catalogue *catalogue, pw_measurements *measurements, pw_error *error);
/* gpu,stack,dtype,pass,batch,seq,heads,kv_heads,head_dim,latency_us with sides heads,kv_heads,head_dim,side. */
pw_status pw_measurements_read_attention(const char *file, const char *split, const char *primary,
                                         const pw_catalogue *catalogue, pw_measurements *measurements, pw_error *error);
/* gpu,stack,dtype,pass,batch,seq,heads,head_dim,tflops: published rates, all for fitting; pass is
 * (backward|forward+backward)-(full|causal), and a causal mask halves the counted flops. */
pw_status pw_measurements_read_published_attention(const char *file, const pw_catalogue *catalogue,
                                                   pw_measurements *measurements, pw_error *error);
void pw_measurements_free(pw_measurements *measurements);

#endif
