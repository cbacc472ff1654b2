-- An all-reduce over 16 nodes while the cables from a leaf to one spine are down for a while.
--
-- The leaf goes on over the other spines. Try --set 'events[1].capacity=0.5', or take a cable that has no other way:
-- --set 'events[1].from=nic 3' --set 'events[1].to=leaf 0'.
local o, u = require "podwright", require "podwright.units"

return o.scenario "a cable fails" {
  cluster = o.cluster "16 nodes" {
    node    = o.node { server = "DGX H100" },
    nodes   = 16,
    network = o.network { topology = "fat_tree", radix = 32, oversubscription = 4 },
  },
  jobs = {
    o.job_on { name = "all-reduce", job = o.collective { algorithm = "tree", bytes = 4 * u.GB, repeats = 8 } },
  },
  events = {
    o.fail { from = "leaf 2", to = "spine 1", at = 100 * u.ms, repaired = 300 * u.ms },
  },
}
