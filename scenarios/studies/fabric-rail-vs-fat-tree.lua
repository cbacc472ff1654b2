-- One network, two ways to wire it: 64 nodes of eight H100 with a 400G port each, rails on leaves of their own or every node on one
-- leaf, and how much thinner the way up may be.
--
-- Which pattern asks for which wiring? A hierarchical all_reduce stays on its rail; an all_to_all over all ranks does not:
--   for t in rail_optimized fat_tree; do for o in 1 2 4; do
--     podwright collective all_to_all fabric-rail-vs-fat-tree.lua -b 1G -e 1G --csv \
--       --set cluster.network.topology=$t --set cluster.network.oversubscription=$o | tail -n 1
--   done; done
-- With PXN off (--set cluster.node.pxn=false) data for another rail take the spines instead of NVLink.
-- Eight groups at once, one per rail (expert or data parallel of a large job): --ranks each-rail.
-- The picture: podwright describe fabric-rail-vs-fat-tree.lua --svg fabric.svg
local o, u = require "podwright", require "podwright.units"

return o.cluster "64 nodes of H100" {
  node    = o.node { server = "DGX H100" },
  nodes   = 64,
  network = o.network { topology = "rail_optimized", oversubscription = 1, port_rate = 400 * u.Gbps },
}
