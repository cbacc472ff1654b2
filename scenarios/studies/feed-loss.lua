-- One of two power feeds of one node is lost in the middle of a step of training, and comes back.
--
-- A DGX H100 has six power supplies of 3.3 kW, three on each feed, four of them needed. A feed away leaves 9.9 kW to a box that may draw
-- 10.2 kW: within milliseconds the power brake halves the clocks of its GPUs, a second later caps that fit into what is left take its
-- place, and all other nodes wait for this one. Try --set 'cluster.power.events[1].lasts=5 ms' (a dip that supplies hold up), take a supply
-- of the other feed away too, or let the brake stay: --set cluster.power.supplies.after_brake=stay.
local o, u = require "podwright", require "podwright.units"

return o.scenario "a feed is lost" {
  cluster = o.cluster "8 nodes" {
    node  = o.node { server = "DGX H100" },
    nodes = 8,
    power = o.power {
      supplies = o.supplies {},
      events   = { o.power_event { what = "feed a", node = 3, at = 2 * u.s, lasts = 4 * u.s } },
    },
  },
  job = o.train {
    model             = o.model "llama2-70b",
    tensor_parallel   = 8,
    pipeline_parallel = 2,
    micro_batch       = 1,
    global_batch      = 512,
    sequence          = 4096,
  },
}
