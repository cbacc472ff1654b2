#include "models/collective/description.h"

#include <string.h>

#define AT(member) offsetof(pw_step_desc, member)
static const pw_field step_fields[] = {
    {"round", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(round), 0, 1 << 24, NULL, NULL, NULL,
     "Rounds count from 0; a message starts when its sender and receiver have done those of their earlier rounds."},
    {"from", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(from), 0, PW_CUSTOM_MEMBERS - 1, NULL, NULL, NULL,
     "The rank that sends, by its place in the group, from 0 on."},
    {"to", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(to), 0, PW_CUSTOM_MEMBERS - 1, NULL, NULL, NULL, "The rank that receives."},
    {"block", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(block), 0, 1 << 20, "0", NULL, NULL,
     "The first block that it carries, from 0 on. Of all_gather, reduce_scatter, gather, scatter and all_to_all each rank owns, or "
     "gets, as many in turn."},
    {"blocks", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(blocks), 1, 1 << 20, "1", NULL, NULL,
     "How many blocks from there on, after the last one the first again."},
    {"source", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(source), -1, PW_CUSTOM_MEMBERS - 1, "-1", NULL, NULL,
     "all_to_all: the rank in whose buffer they lie; -1: the sender."},
    {NULL}};
#undef AT
const pw_kind pw_step_kind = {"step", "One message of an algorithm for collectives.", sizeof(pw_step_desc), step_fields, NULL};

static const pw_kind *const item_kinds[] = {&pw_step_kind, NULL};
static const pw_field step_item = {"step", PW_FIELD_ONE_OF, .kinds = item_kinds, .text = "A message."};

#define AT(member) offsetof(pw_algorithm_desc, member)
static const pw_field algorithm_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, NULL, NULL, NULL, "What --algorithm calls it."},
    {"kind", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(kind), 0, 0, NULL, pw_collective_names, NULL, "The collective that it does."},
    {"ranks", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(ranks), 2, PW_CUSTOM_MEMBERS, NULL, NULL, NULL, "Ranks of the groups that it is for."},
    {"blocks", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(blocks), 0, 1 << 20, "0", NULL, NULL,
     "Equal blocks that the buffer is cut into; 0: one for each rank."},
    {"steps", PW_FIELD_LIST, PW_UNIT_NONE, AT(steps), 1, PW_LIST_MOST, NULL, NULL, NULL,
     "Its messages in order of round. What they carry is followed: an algorithm that does not do its kind is refused.", NULL, &step_item},
    {NULL}};
#undef AT

pw_status pw_algorithm_from_desc(const pw_algorithm_desc *desc, pw_arena *arena, pw_custom_algorithm *custom, pw_error *error) {
    pw_custom_step *steps = pw_arena_alloc(arena, (desc->steps.count + 1) * sizeof *steps);
    if (!steps) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the steps of an algorithm");
    const pw_one_of *items = desc->steps.items;
    for (uint32_t i = 0; i < desc->steps.count; i++) {
        const pw_step_desc *step = items[i].record;
        steps[i] = (pw_custom_step){.round = (uint32_t)step->round,
                                    .from = (uint32_t)step->from,
                                    .to = (uint32_t)step->to,
                                    .block = (uint32_t)step->block,
                                    .blocks = (uint32_t)step->blocks,
                                    .source = (uint32_t)(step->source < 0 ? step->from : step->source)};
    }
    *custom = (pw_custom_algorithm){.name = desc->name,
                                    .kind = (pw_collective_kind)desc->kind,
                                    .members = (uint32_t)desc->ranks,
                                    .units = (uint32_t)(desc->blocks ? desc->blocks : desc->ranks),
                                    .steps = steps,
                                    .count = desc->steps.count};
    return PW_OK;
}

static pw_status check_algorithm(const void *description, const char *file, int line, pw_error *error) {
    const pw_algorithm_desc *desc = description;
    for (int i = 0; pw_algorithm_names[i]; i++)
        if (strcmp(pw_algorithm_names[i], desc->name) == 0)
            return pw_fail(error, PW_BAD_INPUT, file, line, "give it another name", "algorithm.name is that of a known algorithm: '%s'",
                           desc->name);
    pw_arena *arena = pw_arena_create(NULL);
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the steps of an algorithm");
    pw_custom_algorithm custom;
    pw_error wrong = {0};
    pw_status status = pw_algorithm_from_desc(desc, arena, &custom, &wrong);
    if (status == PW_OK) status = pw_custom_check(NULL, &custom, &wrong);
    pw_arena_destroy(arena);
    if (status == PW_OK) return PW_OK;
    return pw_fail(error, status, file, line, *wrong.hint ? wrong.hint : "docs/models/collectives.md says what each rank must end with", "%s",
                   wrong.what);
}

const pw_kind pw_algorithm_kind = {"algorithm", "An algorithm for collectives, written as a list of messages.", sizeof(pw_algorithm_desc),
                                   algorithm_fields, check_algorithm};
