/* Software stacks of convolutional networks: what a framework of an era runs beside convolutions, as one row of the catalogue's
 * table convnet-stacks. A pass is one read or write of a layer's output tensor; an in-place ReLU takes two, a batch norm three
 * (read for the statistics; read and write). The code knows the places where such kernels run, never how many passes they take.
 */
#ifndef PW_MODELS_CONVNET_STACK_H
#define PW_MODELS_CONVNET_STACK_H

#include "models/catalogue/catalogue.h"

/* X(column): 0 or 1 */
#define PW_CONVNET_SWITCH_MAP(X)                                                                          \
    X(channels_last)     /* 16-bit convolutions take tensors as they are; else each is transposed */      \
    X(channels_last_tf32) /* the same for tf32; fp32 never needs it */                                    \
    X(overlap_gradients) /* buckets reduced behind the backward pass */                                   \
    X(cuda_graphs)       /* launches cost no host time */

/* X(column): a number >= 0 */
#define PW_CONVNET_NUMBER_MAP(X)                                                                          \
    X(transpose)         /* passes per tensor of a convolution on tensor units without channels_last */            \
    X(norm_forward) X(norm_backward) X(norm_kernels) /* passes; kernels each way */                       \
    X(relu_forward) X(relu_backward) X(relu_kernels) /* behind a norm or a sum: 0 where it is fused */    \
    X(bias_forward) X(bias_backward)                                                                      \
    X(add_forward) X(add_backward)   /* per added input, of a sum of two */                               \
    X(sum_gradients)     /* where an output has several takers: passes per taker beyond the first */      \
    X(pool_index)        /* bytes kept per output of a maximum */                                         \
    X(box_loss) X(box_loss_kernels)  /* bytes per class score of a box and image, both ways */            \
    X(cast)              /* 16-bit formats: bytes per parameter and step to and from 16 bits */           \
    X(cast_kernels)      /* per array */                                                                  \
    X(optimizer_sgd) X(optimizer_lars) /* bytes per parameter */                                          \
    X(optimizer_kernels) /* per array */                                                                  \
    X(gradient_wire)     /* bytes of a gradient on the wire */                                            \
    X(bucket)            /* gradient bytes reduced together */                                            \
    X(launch_factor)     /* host time per kernel over one launch */                                       \
    X(reserve) X(fragmentation) /* bytes of context and libraries; share of the rest */

typedef struct pw_convnet_stack {
    const char *name, *text, *source;
    int64_t year;
#define PW_CONVNET_SWITCH(column) bool column;
    PW_CONVNET_SWITCH_MAP(PW_CONVNET_SWITCH)
#undef PW_CONVNET_SWITCH
#define PW_CONVNET_NUMBER(column) double column;
    PW_CONVNET_NUMBER_MAP(PW_CONVNET_NUMBER)
#undef PW_CONVNET_NUMBER
    double kernel_time_factor; /* table stack-factors; 1 where there is none */
} pw_convnet_stack;

/* Reads the row `name`; NULL or "": the newest default. Fails with PW_NOT_FOUND, or with file:line on a bad cell. */
pw_status pw_convnet_stack_read(const pw_catalogue *catalogue, const char *name, pw_convnet_stack *stack, const char *file,
                                int line, pw_error *error);

#endif
