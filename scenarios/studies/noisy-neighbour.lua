-- A training job beside a neighbour that keeps an all-to-all going, and beside a constant background.
--
-- Who takes what is in the column "lost to". Try --set 'jobs[3].job.load=0.1', or --set 'jobs[2].job.bytes=64 MB'.
local o, u = require "podwright", require "podwright.units"

return o.scenario "noisy neighbours" {
  cluster = o.cluster "16 nodes" {
    node    = o.node { server = "DGX H100" },
    nodes   = 16,
    network = o.network { topology = "fat_tree", radix = 64, oversubscription = 4 },
  },
  jobs = {
    o.job_on {
      name = "training", nodes = 8, placement = "spread",
      job = o.train {
        model = o.model "llama2-13b", sequence = 4096, global_batch = 64, micro_batch = 1,
        precision = "bf16", sharding = "zero3",
      },
    },
    o.job_on {
      name = "neighbour", nodes = 4, placement = "spread", forever = true,
      job = o.collective { operation = "all_to_all", bytes = 256 * u.MB },
    },
    o.job_on { name = "background", job = o.background { pattern = "permutation", load = 0.3 } },
  },
}
