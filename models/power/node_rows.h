/* Measured nodes as fits and validation take them: rows of power-measured.csv whose mean or idle power at the wall is known, with the server that
 * power-systems.csv says their system is, and their side of the split.
 */
#ifndef PW_MODELS_POWER_NODE_ROWS_H
#define PW_MODELS_POWER_NODE_ROWS_H

#include "models/power/node_power.h"

enum { PW_NODE_TYPES = 24, PW_NODE_TASKS = 24, PW_NODE_NAME = 96 };

typedef struct pw_node_row {
    int line;          /* in the file */
    int type, task;    /* task -1: idle */
    bool check;        /* judges only */
    bool shapes;       /* its system may shape parameters, and what its GPUs draw is known */
    double gpu_W;      /* idle: GPUs of the catalogue's idle power; else the caps of all GPUs together */
    double measured_W;
    pw_node_power *model;
} pw_node_row;

typedef struct pw_node_rows {
    const pw_allocator *allocator;
    pw_node_row *rows;
    size_t count, capacity;
    int types, tasks;
    char type[PW_NODE_TYPES][PW_NODE_NAME], task[PW_NODE_TASKS][PW_NODE_NAME]; /* tasks in order of name */
    pw_node_power *model[PW_NODE_TYPES * 2]; /* one per system of power-systems.csv */
    int models;
} pw_node_rows;

/* data: power-measured.csv or a file of its columns; split: folder of split-power.csv and power-systems.csv. Rows whose system is not in
 * power-systems.csv or whose GPUs have no known cap are left out, and so are rows whose numbers
 * cannot be read. */
pw_status pw_node_rows_read(const pw_catalogue *catalogue, const char *data, const char *split, pw_node_rows *rows, pw_error *error);
void pw_node_rows_free(pw_node_rows *rows);

#endif
