-- The cliff between two racks: two NVL72 racks of GB300, 64 GPUs of each. Inside a rack a GPU has 900 GB/s of NVLink, between racks one
-- port of 800 Gb/s.
--
--   podwright collective all_to_all fabric-two-racks.lua --ranks 64  -b 16G -e 16G   # one rack
--   podwright collective all_to_all fabric-two-racks.lua             -b 16G -e 16G   # both
--   podwright collective all_reduce fabric-two-racks.lua             -b 16G -e 16G
-- A published pair of runs on such racks (OCI): all_to_all 667 GB/s of bus bandwidth in one rack, 48 over two; all_reduce 930 and 738.
-- podwright agrees on three of the four; over two racks its all_to_all has the ports full, while the published one reaches about a
-- quarter of them and does not say why.
-- What would close the gap: --set cluster.node.nic_rate=1600Gbps, or a domain of both racks: --set cluster.node.scaleup_domain=128.
local o = require "podwright"

return o.cluster "two NVL72 racks" {
  node    = o.node { server = "GB300 NVL72", scaleup_domain = 64 },
  nodes   = 32,
  network = o.network { topology = "rail_optimized" },
}
