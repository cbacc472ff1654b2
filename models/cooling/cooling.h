/* How GPUs in nodes are cooled: watts in, temperatures out.
 *
 * A row of cooling-devices.csv says, for a kind of GPU and a kind of cooling, the heat capacities and resistances from the die and the
 * memory over the heat sink (cold plate) to the air (coolant), how the last of them falls with flow, and how fans are driven. Every
 * GPU is one network of three nodes (models/cooling/thermal.h); watts are constant between two calls, and temperatures are then exact.
 *
 *   air          fans follow the hottest die of the node and its inlet, in steps of 1 % of full speed, once a control period; the second
 *                GPU in an air stream gets air that the first one heated; a share of the exhaust may come back to the inlet
 *   cold_plate   liquid to the plates, air for the rest of the node
 *   immersion    all heat goes to the fluid; no fans
 *   refrigerant  cold plates with a fluid that boils: no rise along the way
 *
 * GPU g of node n is number n * gpus_per_node + g, as in models/node. Callers set watts, advance by seconds, read temperatures:
 *
 *   PW_TRY(pw_cooling_create(NULL, catalogue, &desc, device, 8, 1, &cooling, error));
 *   for (uint32_t gpu = 0; gpu < 8; gpu++) pw_cooling_set_gpu(cooling, gpu, 650, NAN);
 *   pw_cooling_advance(cooling, 0, 1, 10);
 *   if (pw_cooling_die_C(cooling)[3] > 85) ...
 *
 * It does not poll: pw_cooling_time_to says when a level is reached, with the fans' answer on the way. One object is used by one thread
 * at a time; any number of objects may be used side by side.
 */
#ifndef PW_MODELS_COOLING_H
#define PW_MODELS_COOLING_H

#include <stdbool.h>
#include <stdint.h>

#include "models/catalogue/catalogue.h"

typedef enum pw_cooling_way { PW_COOLING_AUTO, PW_COOLING_AIR, PW_COOLING_COLD_PLATE, PW_COOLING_IMMERSION, PW_COOLING_REFRIGERANT } pw_cooling_way;
extern const char *const pw_cooling_way_names[]; /* "auto", "air", ..., NULL */

/* What a user may say: o.cooling { ... }. NaN: the row's. */
typedef struct pw_cooling_desc {
    int way;              /* pw_cooling_way; auto: what the GPU is usually sold with */
    double inlet_C;       /* air at the node's inlet */
    double coolant_C;     /* coolant at the node's inlet; not with air */
    double slot_offset_K; /* what the second GPU of an air stream gets warmer; NaN: from the watts of the first and the airflow */
    double recirculation; /* share of the node's inlet air that is its own exhaust */
    double fan_share;     /* fans at a fixed share of full speed; NaN: driven by temperature */
    double flow;          /* of coolant, over the row's flow; not with air */
    double capture;       /* share of the node's heat that goes to the coolant; not with air */
} pw_cooling_desc;
extern const pw_kind pw_cooling_kind;

typedef struct pw_cooling pw_cooling;
/* Everything starts at the inlet's temperature with no watts. PW_NOT_FOUND: no row for such cooling of such a device; PW_BAD_INPUT: a field
 * that the way of cooling does not have. The caller destroys it; the catalogue may go. */
pw_status pw_cooling_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cooling_desc *desc, const pw_device *device,
                            uint32_t gpus_per_node, uint32_t nodes, pw_cooling **cooling, pw_error *error);
void pw_cooling_destroy(pw_cooling *cooling); /* NULL is fine */

/* What was chosen. Texts live as long as the catalogue. */
typedef struct pw_cooling_facts {
    const char *row, *provenance, *source;
    pw_cooling_way way;
    uint32_t gpus_per_node, nodes;
    uint32_t in_series;          /* GPUs in one stream of air: with 2, those of odd number are behind */
    double inlet_C, coolant_C;   /* coolant NaN: none */
    double capture;              /* 0 with air */
    double fan_full_W;           /* all fans of a node at full speed; 0: no fans */
    double airflow_m3ps;         /* of a node at full speed */
    double control_s;            /* between two looks of the fan control */
    double memory_share;         /* of a GPU's power that its memory makes, where only the sum is known */
    double resistance_KpW;       /* die to inlet at full flow, all heat in the die */
} pw_cooling_facts;
pw_cooling_facts pw_cooling_get_facts(const pw_cooling *cooling);

/* ---- inputs; they hold from now on, until set again ---- */

/* memory_W NaN: die_W is the GPU's sum, shared by the row's memory_share. */
void pw_cooling_set_gpu(pw_cooling *cooling, uint32_t gpu, double die_W, double memory_W);
/* The rows that set_gpu writes, one value per GPU, for those who set thousands. */
double *pw_cooling_die_W(pw_cooling *cooling);
double *pw_cooling_memory_W(pw_cooling *cooling);
/* Heat of all else in a node, without its fans. */
void pw_cooling_set_rest(pw_cooling *cooling, uint32_t node, double rest_W);
void pw_cooling_set_inlet(pw_cooling *cooling, uint32_t node, double air_C);
void pw_cooling_set_coolant(pw_cooling *cooling, uint32_t node, double coolant_C); /* nothing with air */
/* Coolant flow of a node over the row's, 0 .. 2: a pump that fails. In steps of 1 %. Nothing with air. */
void pw_cooling_set_flow(pw_cooling *cooling, uint32_t node, double share);
/* The most that a node's fans can do, 0 .. 1 of full speed: fans that fail. */
void pw_cooling_set_fan_limit(pw_cooling *cooling, uint32_t node, double share);
/* Die heat grows by feedback_WpK for each K above reference_C (leakage), on top of die_W: exact, no iteration. For all GPUs. */
pw_status pw_cooling_set_feedback(pw_cooling *cooling, double feedback_WpK, double reference_C, pw_error *error);

/* ---- time ---- */

/* Advances nodes first .. first + count - 1 by seconds >= 0. Nodes may be advanced one by one and at different times. */
void pw_cooling_advance(pw_cooling *cooling, uint32_t first, uint32_t count, double seconds);
/* Puts nodes where they end up if nothing changes, fans included. PW_OUT_OF_RANGE: temperatures run away. */
pw_status pw_cooling_settle(pw_cooling *cooling, uint32_t first, uint32_t count, pw_error *error);
/* Seconds until the die of a GPU (memory: its memory) reaches level_C, with constant inputs and fans under control; infinity: not within
 * horizon_s (finite). Leaves everything as it was. */
double pw_cooling_time_to(pw_cooling *cooling, uint32_t gpu, bool memory, double level_C, double horizon_s);

/* ---- outputs ---- */

const double *pw_cooling_die_C(const pw_cooling *cooling);    /* one value per GPU */
const double *pw_cooling_memory_C(const pw_cooling *cooling);

typedef struct pw_cooling_state {
    double hottest_C;       /* die */
    uint32_t hottest_gpu;   /* number in the cluster */
    double fan_share;       /* of full speed; 0: no fans */
    double fan_W;           /* of all fans of the node: full power x share^3 */
    double airflow_m3ps;
    double air_in_C, air_out_C;         /* with recirculation; out by Q = m cp dT over all heat that goes to air, fans too */
    double coolant_out_C;               /* NaN: no coolant */
    double liquid_W, air_W;             /* their sum is GPUs + rest + fans (watts now, not heat still stored in sinks) */
} pw_cooling_state;
pw_cooling_state pw_cooling_node(const pw_cooling *cooling, uint32_t node);

#endif
