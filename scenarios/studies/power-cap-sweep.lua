-- A power cap on 64 H100: what a watt less costs, and what it saves.
--
-- Try --set cluster.power.cap=300W ... 700W and compare tokens/s, watts and joules per token: near the board's limit the voltage is high,
-- so power falls much faster than speed; near the floor of the voltage it saves no energy any more.
-- Then --set cluster.power.die_classes=8: dies differ, and the best wait for the worst.
local o, u = require "podwright", require "podwright.units"

return o.scenario "Llama 2 70B on 64 H100 under a power cap" {
  cluster = o.cluster "8 nodes" {
    node    = o.node { server = "DGX H100" },
    nodes   = 8,
    network = o.network { topology = "rail_optimized", port_rate = 400 * u.Gbps },
    power   = o.power { governor = "cap", cap = 500 * u.W },
  },
  job = o.train "pre-training" {
    model             = o.model "llama2-70b",
    sequence          = 4096,
    global_batch      = 128,
    micro_batch       = 1,
    tensor_parallel   = 4,
    pipeline_parallel = 4,
    precision         = "bf16",
    sharding          = "zero1",
    stack             = "nemo-2024",
  },
}
