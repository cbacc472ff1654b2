/* The fits, one per table of kernel parameters. Each reads measurements, writes its tables below `folder` and prints
 * the error of the fit and check rows to `report`.
 */
#ifndef PW_CALIBRATE_FIT_FIT_H
#define PW_CALIBRATE_FIT_FIT_H

#include <stdio.h>

#include "models/catalogue/catalogue.h"

typedef struct pw_fit_paths {
    const char *data;   /* folder of kernel-gemm.csv, kernel-attention.csv, attention-published.csv and collectives-measured.csv */
    const char *split;  /* folder of split-gemm.csv, split-attention.csv, split-collectives.csv and collective-systems.csv */
    const char *folder; /* where the tables go */
    const char *stack;  /* beginning of the name of the stack to fit */
} pw_fit_paths;

/* kernel-gemm-parameters.csv, kernel-gemm-covariance.csv */
pw_status pw_fit_gemm(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error);
/* kernel-traffic-parameters.csv, kernel-traffic-covariance.csv: rows that only stream a matrix */
pw_status pw_fit_traffic(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error);
/* kernel-attention-parameters.csv, kernel-attention-covariance.csv; the catalogue must hold the gemm parameters */
pw_status pw_fit_attention(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error);
/* collective-parameters.csv, and the fitted cells of network-stacks.csv and collective-launch.csv */
pw_status pw_fit_collectives(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error);
/* node-power-parameters.csv, from nodes measured at the wall */
pw_status pw_fit_node_power(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error);
/* the fitted cells of gpu-power-parameters.csv and gpu-activities.csv, from power-measured.csv and split-power.csv */
pw_status pw_fit_power(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error);

#endif
