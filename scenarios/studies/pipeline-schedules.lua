-- One GPT of 28 billion parameters through 32 stages of one A100 each, after the largest run of the zero-bubble paper
-- (Qi et al. 2023, arXiv 2401.10241): 64 micro-batches, so half of the work is bubble with 1f1b.
--
-- Compare schedules:
--   for s in 1f1b zb-h1 zb-h2 zb-v v-half v-min dualpipe dualpipev; do
--     podwright run pipeline-schedules.lua --set job.schedule=$s --csv | grep step_s
--   done
-- The paper reports 23 % more throughput than 1f1b in its memory, 31 % with twice the memory and a late check.
local o, u = require "podwright", require "podwright.units"

return o.scenario "pipeline schedules" {
  cluster = o.cluster "four servers" {
    node    = o.node { server = "DGX A100 640GB" },
    nodes   = 4,
    network = o.network { topology = "rail_optimized", port_rate = 200 * u.Gbps },
  },
  job = o.train "28B" {
    model = o.model {
      layers = 62, hidden = 6144, heads = 48, vocabulary = 51200, biases = true, positions = 1024,
    },
    sequence          = 1024,
    global_batch      = 64,
    pipeline_parallel = 32,
    schedule          = "zb-h1",
    stack             = "megatron-2023",
  },
}
