-- Llama 2 13B sharded over 64 A100 (FSDP): gathers and scatters of every layer against computation.
--
-- Over 200 Gb/s a GPU the gathers hide. Try --set cluster.network.port_rate=25Gbps, and then
-- --set job.shard_group=8 (HSDP: a node keeps a whole copy, and only shares of the gradients cross the network), or
-- --set job.prefetch=0, --set job.reshard=off, --set job.offload_optimizer=true.
local o, u = require "podwright", require "podwright.units"

return o.scenario "Llama 2 13B, FSDP on 64 A100" {
  cluster = o.cluster "8 nodes" {
    node    = o.node { server = "DGX A100 640GB" },
    nodes   = 8,
    network = o.network { topology = "rail_optimized", port_rate = 200 * u.Gbps },
  },
  job = o.train "pre-training" {
    model        = o.model "llama2-13b",
    sequence     = 4096,
    global_batch = 64,
    micro_batch  = 1,
    precision    = "bf16",
    sharding     = "zero3",
    stack        = "fms-fsdp-2024",
  },
}
