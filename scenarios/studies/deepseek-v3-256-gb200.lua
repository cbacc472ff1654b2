-- DeepSeek-V3 on 256 GPUs of GB200 NVL72: how long is a step, and what do the experts cost?
--
-- The layout of NVIDIA's Megatron-Bridge recipe: 4 pipeline stages of 4 chunks, the 256 experts of a layer over 64 GPUs (4 on
-- each), MXFP8, a module that predicts a second token, compressed queries, keys and values expanded again in the backward pass.
-- Published: 13.2 s a step in release 26.06, 16.3 s in 26.02 (try --set job.stack=bridge-graphs-2026), with forced balance.
-- What if routing is not balanced? --set job.expert_imbalance=1.3
local o, u = require "podwright", require "podwright.units"

return o.scenario "DeepSeek-V3 on 256 GB200" {
  cluster = o.cluster "racks" {
    node    = o.node { server = "GB200 NVL72", gpus = 4 },
    nodes   = 64,
    network = o.network { topology = "rail_optimized", port_rate = 400 * u.Gbps },
  },
  job = o.train "pre-training" {
    model             = o.model "deepseek-v3-mtp",
    sequence          = 4096,
    global_batch      = 4096,
    micro_batch       = 1,
    pipeline_parallel = 4,
    virtual_stages    = 4,
    expert_parallel   = 64,
    precision         = "fp8",
    sharding          = "zero1",
    stack             = "bridge-full-2026",
    recompute_modules = "mla_up_proj",
  },
}
