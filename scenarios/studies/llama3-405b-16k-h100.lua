-- Llama-3 405B on 16,384 H100: how long is a step, where does the time go, does it fit?
--
-- The run that Meta reports (Llama 3 report, table 4): 8-way tensor, 16-way pipeline and 128-way data parallel at a sequence
-- of 8,192 and a global batch of 2,048 sequences. It reached 400 TFLOP/s per GPU, 41 % MFU, in bf16, with Meta's own stack
-- and FSDP; this study has a current stack and ZeRO-1, and is 15 to 20 % faster. The report does not say how many model
-- chunks a pipeline stage holds. Here it is one layer a chunk (126 layers, the embedding and the loss: 128 = 16 x 8), which has
-- the smallest bubble: try --set job.virtual_stages=2.
local o, u = require "podwright", require "podwright.units"

return o.scenario "Llama-3 405B on 16,384 H100" {
  cluster = o.cluster "pod" {
    node    = o.node { server = "DGX H100" },
    nodes   = 2048,
    network = o.network { topology = "rail_optimized", oversubscription = 1, port_rate = 400 * u.Gbps },
  },
  job = o.train "pre-training" {
    model             = o.model "llama3-405b",
    sequence          = 8192,
    global_batch      = 2048,
    micro_batch       = 1,
    tensor_parallel   = 8,
    pipeline_parallel = 16,
    virtual_stages    = 8,
    precision         = "bf16",
    sharding          = "zero1",
  },
}
