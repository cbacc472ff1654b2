-- Four jobs of data parallel training in one cluster: each on nodes side by side, or on whatever was free?
--
-- As written their nodes are fragmented. --set 'jobs[1].placement=packed' (and 2, 3, 4) puts them side by side; what the reports differ
-- by is the price of fragmentation. Operators have published losses above 30 % (Gangidi et al., SIGCOMM 2024).
local o, u = require "podwright", require "podwright.units"

local jobs = {}
for i = 1, 4 do
  jobs[i] = o.job_on {
    name = "job " .. i, nodes = 8, placement = "fragmented",
    job = o.train {
      model = o.model "llama2-13b", sequence = 4096, global_batch = 64, micro_batch = 1,
      precision = "bf16", sharding = "zero3",
    },
  }
end

return o.scenario "four jobs, fragmented" {
  cluster = o.cluster "32 nodes" {
    node    = o.node { server = "DGX H100" },
    nodes   = 32,
    network = o.network { topology = "fat_tree", radix = 72, oversubscription = 8 },
  },
  jobs = jobs,
}
