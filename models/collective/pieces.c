/* How finely a run by messages cuts a pipeline. The cost of a chain or tree with a form is that of a stream: every hop passes on what
 * arrives at once. Messages are stored first, so P pieces over d more hops take (P + d) / P of it. Libraries stream in slices of their own
 * (NCCL: an eighth of a 4 MB buffer per channel), and their measured times hold what that costs already. */
#include <math.h>

#include "models/collective/algorithm.h"
#include "models/collective/collectives_internal.h"

enum { FILL = 20, MOST_PIECES = 65535, MOST_MESSAGES = 1 << 24, MOST_KEPT = 1 << 21 /* where a run indexes all of them */ };

static void count_message(void *object, const pw_collective_step *step) {
    (void)step;
    ++*(uint32_t *)object;
}

uint32_t pw_collective_pieces(const pw_collectives *collectives, pw_collective_kind kind, int algorithm, const pw_group_shape *shape,
                              double alpha_s, double total_s) {
    pw_group_shape with = *shape;
    const pw_algorithm *row = pw_collectives_algorithm(collectives, algorithm, &with);
    if (!row || !algorithm_forms[row - pw_algorithm_table].load || (with.options && with.options->pieces)) return 0;
    pw_collective_options cut = with.options ? *with.options : (pw_collective_options){0};
    with.options = &cut;
    cut.pieces = 2;
    uint32_t two = row->rounds(kind, &with), messages = 0;
    cut.pieces = 1;
    uint32_t rounds = row->rounds(kind, &with);
    if (two != rounds + 1 || !(total_s > 0)) return 0; /* no pipeline */
    row->steps(kind, &with, count_message, &messages);
    double wanted = ceil(FILL * (rounds - 1.0) * (total_s - alpha_s) / total_s);
    double most = fmin(MOST_PIECES, floor((row->touches ? MOST_MESSAGES : MOST_KEPT) / fmax(messages, 1)));
    return (uint32_t)fmax(PW_ALGORITHM_PIECES, fmin(wanted, most));
}
