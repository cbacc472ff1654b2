-- GPT with a trillion parameters on 3,072 A100: the largest run of the Megatron-LM paper (SC'21, table 1, last row).
--
-- Published: 163 TFLOP/s per GPU (52 % of peak) with full recompute, 8-way tensor, 64-way pipeline and 6-way data
-- parallel, 102.6 s a step by the paper's FLOP count. Try --set job.recompute=selective, and see that it does not fit.
local o, u = require "podwright", require "podwright.units"

return o.scenario "GPT 1T on 3,072 A100" {
  cluster = o.cluster "selene" {
    node    = o.node { server = "DGX A100 640GB" },
    nodes   = 384,
    network = o.network { topology = "rail_optimized", port_rate = 200 * u.Gbps },
  },
  job = o.train "pre-training" {
    model             = o.model "megatron-1008b",
    sequence          = 2048,
    global_batch      = 3072,
    micro_batch       = 1,
    tensor_parallel   = 8,
    pipeline_parallel = 64,
    precision         = "fp16",
    recompute         = "full",
    sharding          = "none", -- Megatron-LM had no distributed optimizer yet
    stack             = "megatron-2021",
  },
}
