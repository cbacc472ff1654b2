-- Two training jobs whose nodes alternate, so that both cross the spine: what does oversubscription cost them?
--
-- Try --set cluster.network.oversubscription=1 (no loss to speak of), 2, 4 and 8, or place them side by side:
-- --set 'jobs[1].placement=packed' --set 'jobs[1].stride=1' --set 'jobs[2].placement=packed' --set 'jobs[2].stride=1' --set 'jobs[2].first_node=8'.
-- With --set cluster.network.routing=ecmp flows meet on some uplinks while others are idle, and the loss is several times as large.
-- --links-csv links.csv shows when the uplinks are full.
local o, u = require "podwright", require "podwright.units"

local function job(name, first_node)
  return o.job_on {
    name = name, nodes = 8, placement = "strided", stride = 2, first_node = first_node, steps = 2,
    job = o.train {
      model = o.model "llama2-13b", sequence = 4096, global_batch = 64, micro_batch = 1,
      precision = "bf16", sharding = "zero3",
    },
  }
end

return o.scenario "two jobs on one spine" {
  cluster = o.cluster "16 nodes" {
    node    = o.node { server = "DGX H100" },
    nodes   = 16,
    network = o.network { topology = "fat_tree", radix = 32, oversubscription = 4 },
  },
  jobs = { job("even", 0), job("odd", 1) },
}
