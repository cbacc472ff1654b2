/* The figures that the power of all servers shares, fitted over measured nodes: one value each, whatever the type of node.
 *
 * Minimises sum over rows of log(1 + (e / s)^2) + sum over figures of ((figure - prior) / spread)^2, e: relative error, s: 1 % of rows under
 * load and 5 % of idle ones. Priors are cells of node-power-parameters.csv with their sources. A row with an odd cap, as published settings have
 * them, so bends nothing. It lives here, below both, because `podwright-fit` writes what it gives and validation asks it for nodes whose type is left
 * out. GPUs that a cap holds draw cap x `cap draw` x the draw of their task.
 */
#ifndef PW_MODELS_POWER_NODE_FIT_H
#define PW_MODELS_POWER_NODE_FIT_H

#include "models/power/node_rows.h"

enum { PW_NODE_SHARED = 7, PW_NODE_VALUES = PW_NODE_SHARED + PW_NODE_TASKS };

typedef struct pw_node_values {
    pw_node_parameters shared;
    double draw[PW_NODE_TASKS];   /* by task of the rows; 1 where none was fitted */
    double error[PW_NODE_VALUES]; /* standard errors, shared first; NaN: not fitted */
    size_t fitted_rows;
} pw_node_values;

/* As the catalogue has them. */
pw_status pw_node_values_read(const pw_catalogue *catalogue, const pw_node_rows *rows, pw_node_values *values, pw_error *error);
/* Fitted on the fit side of rows that may shape, without those of one type (-1: of all types). */
pw_status pw_node_values_fit(const pw_catalogue *catalogue, const pw_node_rows *rows, int without_type, pw_node_values *values,
                             pw_error *error);
/* Of shared figure i, from 0 to PW_NODE_SHARED - 1, and of any task's draw (PW_NODE_SHARED): its row, and its prior. */
const char *pw_node_shared_name(int i);
double pw_node_shared_value(const pw_node_values *values, int i); /* i below PW_NODE_SHARED */
pw_status pw_node_prior(const pw_catalogue *catalogue, int i, double *prior, double *spread, pw_error *error);
/* "draw of TASK", the row of a task. Returns text. */
const char *pw_node_draw_name(const char *task, char text[PW_NODE_NAME + 16]);
/* Watts at the wall of a row. Sets the parameters of its model: not from two threads at once. */
double pw_node_row_predict(const pw_node_row *row, const pw_node_values *values);

#endif
