/* Proof that an algorithm does what its kind promises: the blocks that every step carries, followed round by round.
 *
 * A member holds, of each block, the set of members whose part is in it: its own at the beginning (of a broadcast or scatter
 * only the root holds anything). A step hands over what its sender held when the round began. Of sums, the receiver adds what
 * it does not have yet, or takes over a sum that has all of its own; parts that would count twice are an error, as is a
 * block that the sender does not hold. In the end each member holds what the kind promises. A step that is missing, too
 * early or to the wrong member shows.
 */
#ifndef PW_MODELS_COLLECTIVE_CONTENTS_H
#define PW_MODELS_COLLECTIVE_CONTENTS_H

#include "models/collective/collective.h"

/* PW_BAD_INPUT names a round, member and block, and the member whose part is missing or counted twice; also when the blocks of a
 * message are not its fraction of S. The algorithm has `units` and `carries`. Memory: members^2 x units / 8 bytes. */
pw_status pw_collective_prove(const pw_allocator *allocator, const pw_algorithm *algorithm, pw_collective_kind kind,
                              const pw_group_shape *shape, pw_error *error);

#endif
