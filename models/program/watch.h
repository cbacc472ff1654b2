/* What flows over the links while jobs run: the use of every link over time, every transfer, and who holds up whom.
 *
 * A watch listens to the executors that were made with it. Between two changes rates are constant, so all it keeps are
 * integrals, exact up to rounding; the run is the same with it and without it.
 *
 * Use over time lies in bins of equal width. The width doubles when the run gets longer than the bins, so a run of any length
 * fills between half of them and all.
 *
 * Held time. A transfer is held while it runs below its own cap (what it would do alone on an idle fabric is at most that).
 * Some link on its way is full then, and no other transfer on this link is faster: that link holds it. In such an interval,
 * every other job is charged the length of the interval x the share of the link's capacity that its transfers take. Summed over
 * the transfers of a job, these are the weights by which the job's loss is split (docs/models/several-jobs.md).
 *
 * Folded runs: a transfer stands for all equal ones, a link for all equal ones; charges count each of them.
 */
#ifndef PW_MODELS_WATCH_H
#define PW_MODELS_WATCH_H

#include "models/node/cluster.h"
#include "sim/event.h"
#include "sim/fluid.h"

typedef struct pw_watch pw_watch;

typedef struct pw_watch_config {
    pw_sim *sim;
    pw_fluid *fluid;
    const pw_cluster *cluster;
    uint32_t jobs;       /* executors that will be made with it, in this order */
    uint32_t bins;       /* at most so many (even); 0: no use over time */
    uint32_t most_flows; /* transfers kept at most; 0: none */
} pw_watch_config;

pw_status pw_watch_create(const pw_watch_config *config, pw_watch **watch, pw_error *error);
void pw_watch_destroy(pw_watch *watch); /* after the executors; NULL is fine */
void pw_watch_close(pw_watch *watch);   /* counts until now; before anything below is asked */

/* Links that carried something, one entry for all that are equal (twins, and the links of a class in a folded run), in order of
 * their first link. */
typedef struct pw_watched_link {
    pw_link link;         /* the first of them */
    uint32_t links;
    double bandwidth_Bps; /* of each, undamaged */
    double peak;          /* highest use at any time, of the bandwidth */
    double full_s;        /* time for which the capacity was taken altogether */
} pw_watched_link;
uint32_t pw_watch_links(const pw_watch *watch);
pw_watched_link pw_watch_link(const pw_watch *watch, uint32_t index);
double pw_watch_bytes(const pw_watch *watch, uint32_t index, uint32_t job); /* over each of its links */
pw_time pw_watch_span(const pw_watch *watch, pw_time *bin); /* end of the run; width of a bin */
double pw_watch_bin_bytes(const pw_watch *watch, uint32_t index, uint32_t job, uint32_t bin);

/* One transfer, in order of their ends. */
typedef struct pw_watched_flow {
    uint32_t job;
    uint32_t kind;           /* 0 collective, 1 message, 2 copy, 3 io */
    uint32_t what;           /* collective kind; peer role; to_host; 2 x store + write */
    uint32_t role;           /* group role of a collective, else PW_NONE */
    uint32_t from, to;       /* GPUs: first and last member; sender and receiver; PW_NONE: host memory or a store */
    uint32_t members, count; /* of each; so many equal ones */
    double bytes;            /* of each, as its size is counted (collective.h) */
    pw_time start, end;      /* without its latency phase */
    double free_Bps;         /* alone on an idle fabric */
    uint32_t limit;          /* watched link that held it longest, PW_NONE: none did */
    double held_s;           /* by any link */
} pw_watched_flow;
const pw_watched_flow *pw_watch_flows(const pw_watch *watch, size_t *count, uint64_t *left_out);

/* Seconds for which transfers of the job were held x the other's share of what held them, summed as above. */
double pw_watch_held_s(const pw_watch *watch, uint32_t job, uint32_t other);
/* Whether two jobs ever had transfers under way over one link that could limit them. */
bool pw_watch_met(const pw_watch *watch, uint32_t job, uint32_t other);

#endif
