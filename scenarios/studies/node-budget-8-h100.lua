-- Where the watts of an 8xH100 box go, and how far its rated 10.2 kW is from what its parts draw.
--
--   podwright describe scenarios/studies/node-budget-8-h100.lua
--   podwright describe scenarios/studies/node-budget-8-h100.lua --set cluster.node.server="DGX B200"
--   podwright describe scenarios/studies/node-budget-8-h100.lua --json
-- GPUs at their limit are two thirds of what the wall sees, fans and supplies a fifth. With every part at its most the sum lies at the
-- rating; in operation it does not get there: the most that a published stress test of such a box drew was 8.4 kW, 18 % under the rating,
-- which is where GPUs at their limit put it here. Fans follow heat; with cooling = o.cooling { ... } they turn as temperature has them.
local o = require "podwright"

return o.cluster "8xH100 box" {
  node  = o.node { server = "DGX H100" },
  nodes = 1,
}
