/* The way of power from the meter to a rack: transformer, UPS, rack PDU or busway.
 *
 * Each stage has a rated output and loses constant + proportional x + square x^2 of it at load share x: what it needs without load, what
 * goes with current (switching), what goes with its square (copper). Input = output + loss, stage after stage, so what the meter reads is
 * the load plus all losses.
 *
 *   pw_power_chain chain = {0};
 *   PW_TRY(pw_power_chain_add(catalogue, "busway", 1e6, &chain, error));                 // nearest to the load first
 *   PW_TRY(pw_power_chain_add(catalogue, "ups-double-conversion", 1e6, &chain, error));
 *   PW_TRY(pw_power_chain_add(catalogue, "transformer-dry", 2.5e6, &chain, error));
 *   pw_chain_flow flow = pw_power_chain_flow(&chain, 600e3);                             // flow.meter_W, flow.loss_W[i]
 *
 * Power supplies of boxes come before it (supply.h). Plain values; some nanoseconds per stage. Unit: W.
 */
#ifndef PW_MODELS_POWER_CHAIN_H
#define PW_MODELS_POWER_CHAIN_H

#include "models/catalogue/catalogue.h"

#define PW_TABLE_POWER_STAGES "power-stages"

enum { PW_CHAIN_STAGES = 8 };

typedef struct pw_power_stage {
    const char *name, *kind, *provenance, *source; /* as long as the catalogue; kind: "pdu", "ups", "transformer" */
    double rated_W, constant, proportional, square;
} pw_power_stage;
/* A row of power-stages, of this rated output. PW_NOT_FOUND lists the known ones. */
pw_status pw_power_stage_find(const pw_catalogue *catalogue, const char *name, double rated_W, pw_power_stage *stage, pw_error *error);
double pw_power_stage_loss_W(const pw_power_stage *stage, double output_W);
/* The inverse of output + loss; 0 when the input does not cover the loss without load. */
double pw_power_stage_output_W(const pw_power_stage *stage, double input_W);

typedef struct pw_power_chain {
    int count;                            /* 0: the load is at the meter */
    pw_power_stage stages[PW_CHAIN_STAGES]; /* from the load to the meter */
} pw_power_chain;
/* Appends a stage on the side of the meter. */
pw_status pw_power_chain_add(const pw_catalogue *catalogue, const char *name, double rated_W, pw_power_chain *chain, pw_error *error);

typedef struct pw_chain_flow {
    int count;
    double load_W, meter_W;
    double output_W[PW_CHAIN_STAGES], loss_W[PW_CHAIN_STAGES], share[PW_CHAIN_STAGES]; /* share above 1: overload */
} pw_chain_flow;
pw_chain_flow pw_power_chain_flow(const pw_power_chain *chain, double load_W);
/* The load that makes the meter read so much; 0 when not even the losses without load are covered. */
double pw_power_chain_load_W(const pw_power_chain *chain, double meter_W);
/* Highest load at which no stage is above its rated output. Infinite without stages. */
double pw_power_chain_limit_W(const pw_power_chain *chain);

#endif
