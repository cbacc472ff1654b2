/* Maximum flow, independent of what it checks. */
#ifndef PW_TESTS_FABRIC_FLOW_H
#define PW_TESTS_FABRIC_FLOW_H

#include <math.h>
#include <stdlib.h>

#include "models/fabric/fabric.h"

/* Edmonds and Karp: shortest augmenting paths in units of one cable. */
static double max_flow(uint32_t vertices, uint32_t links, const uint32_t *from, const uint32_t *to, double *left,
                       uint32_t source, uint32_t sink) {
    double total = 0;
    uint32_t *via = malloc(sizeof *via * vertices), *queue = malloc(sizeof *queue * vertices);
    for (;;) {
        for (uint32_t v = 0; v < vertices; v++) via[v] = PW_NONE;
        uint32_t head = 0, tail = 0;
        queue[tail++] = source;
        while (head < tail && via[sink] == PW_NONE) {
            uint32_t at = queue[head++];
            for (uint32_t l = 0; l < links; l++)
                if (from[l] == at && left[l] > 1e-9 && via[to[l]] == PW_NONE && to[l] != source) {
                    via[to[l]] = l;
                    queue[tail++] = to[l];
                }
        }
        if (via[sink] == PW_NONE) break;
        double amount = INFINITY;
        for (uint32_t v = sink; v != source; v = from[via[v]]) amount = fmin(amount, left[via[v]]);
        for (uint32_t v = sink; v != source; v = from[via[v]]) {
            left[via[v]] -= amount;
            left[via[v] ^ 1] += amount;
        }
        total += amount;
    }
    free(via), free(queue);
    return total;
}

#endif
