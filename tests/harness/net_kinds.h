/* A kind with every sort of list, for tests: a network of layers, each a convolution or a block of layers. */
#ifndef PW_TESTS_NET_KINDS_H
#define PW_TESTS_NET_KINDS_H

#include "sim/registry.h"

typedef struct conv {
    int64_t channels;
} conv;
typedef struct block {
    const char *name;
    pw_list layers;
} block;
typedef struct net {
    const char *name;
    pw_list stages, rates, layers;
    pw_one_of head;
} net;

static const pw_kind net_kind, conv_kind, block_kind;
static const pw_kind *const layer_kinds[] = {&conv_kind, &block_kind, NULL};
static const pw_field stage = {"stage", PW_FIELD_INTEGER, PW_UNIT_NONE, 0, 1, 100, .text = "Layers of a stage."};
static const pw_field rate = {"rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, 0, 0, 1e12, .text = "Of a rail."};
static const pw_field layer = {"layer", PW_FIELD_ONE_OF, .kinds = layer_kinds, .text = "A layer."};
static const pw_field conv_fields[] = {
    {"channels", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(conv, channels), 1, 4096, NULL, .text = "Out."}, {NULL}};
static const pw_field block_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(block, name), 0, 0, "", .text = "Its name."},
    {"layers", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(block, layers), 1, 9, NULL, .item = &layer, .text = "What is in it."},
    {NULL}};
static const pw_field net_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(net, name), 0, 0, "", .text = "Its name."},
    {"stages", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(net, stages), 0, 4, "", .item = &stage, .text = "The stages."},
    {"rates", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(net, rates), 0, 0, "", .item = &rate, .text = "The rates."},
    {"layers", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(net, layers), 1, 100, NULL, .item = &layer, .text = "The layers."},
    {"head", PW_FIELD_ONE_OF, PW_UNIT_NONE, offsetof(net, head), 0, 0, "", .kinds = layer_kinds, .text = "The first."},
    {NULL}};
static const pw_kind conv_kind = {"conv", "A convolution.", sizeof(conv), conv_fields, NULL};
static const pw_kind block_kind = {"block", "Layers in a layer.", sizeof(block), block_fields, NULL};
static const pw_kind net_kind = {"net", "A network.", sizeof(net), net_fields, NULL};

#endif
