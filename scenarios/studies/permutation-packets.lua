-- Who checks the flow model? A random permutation of 128 hosts on a three-tier fat-tree of 100 Gb/s, as flows and packet by packet.
--
-- Spread over 128 hashes the two agree to a few per cent. With --set job.paths=1 flows collide on single paths: the flow model gives
-- the shares, the packets what queues and trimming add. Try --set job.pattern=incast, --set job.transport=dcqcn with
-- --set job.paths=1, and --seed 2.
local o, u = require "podwright", require "podwright.units"

return o.scenario "a permutation, packet by packet" {
  cluster = o.cluster "fabric" {
    node    = o.node { gpu = "v100", gpus = 1, nics = 1, nic_rate = 100 * u.Gbps },
    nodes   = 128,
    network = o.network { topology = "fat_tree", radix = 8, efficiency = 1, hop_latency = 0 * u.s, cable_latency = 1 * u.us },
  },
  job = o.traffic "permutation" {
    pattern   = "permutation",
    bytes     = 2 * u.MB,
    mode      = "both",
    transport = "credit",
    switches  = "store_and_forward",
    paths     = 128,
    packet    = 4150 * u.B,
    header    = 64 * u.B,
  },
}
