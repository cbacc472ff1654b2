#!/bin/bash
# Llama 3 70B on 8 nodes
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=8
CHECKPOINT_PATH=$1
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
    --master_addr ${MASTER_ADDR:-localhost}
    --master_port 6000
)
MODEL_ARGS=(
    --num-layers 80 --hidden-size 8192 --num-attention-heads 64   # as published
    --group-query-attention --num-query-groups 8
    --ffn-hidden-size 28672 --swiglu
    --seq-length 8192 --max-position-embeddings 8192
    --position-embedding-type rope --disable-bias-linear
    --normalization RMSNorm --untie-embeddings-and-output-weights
    --vocab-size 128256
)
TRAINING_ARGS="--micro-batch-size 1 --global-batch-size 128 --bf16 --lr 1.5e-4 --train-iters 500000"
torchrun "${DISTRIBUTED_ARGS[@]}" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    $TRAINING_ARGS \
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 5 \
    --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --tp-comm-overlap --recompute-granularity selective \
    --save $CHECKPOINT_PATH --log-interval 1 2>&1 | tee log.txt
