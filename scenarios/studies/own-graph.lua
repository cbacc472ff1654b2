-- A network switch by switch: four leaves, two spines, eight nodes. What is it worth when a bundle of cables is gone?
--
-- The picture: podwright describe own-graph.lua --svg own.svg
-- The bandwidth: podwright collective all_to_all own-graph.lua -b 1G -e 1G --csv
-- A part that fails: --set 'cluster.network.failures[1].capacity=0' (1, as written, is whole).
-- Fewer cables to the first spine: --set 'cluster.network.cables[1].count=2'.
local o = require "podwright"

local switches, cables, attachments = {}, {}, {}
for spine = 1, 2 do table.insert(switches, o.switch { name = "spine " .. spine, tier = 2 }) end
for leaf = 1, 4 do
  table.insert(switches, o.switch { name = "leaf " .. leaf, tier = 1 })
  table.insert(attachments, o.attach { to = "leaf " .. leaf, nodes = string.format("%d-%d", 2 * leaf - 2, 2 * leaf - 1) })
  for spine = 1, 2 do table.insert(cables, o.cable { from = "leaf " .. leaf, to = "spine " .. spine, count = 8 }) end
end

return o.cluster "six switches" {
  node    = o.node { server = "DGX H100" },
  nodes   = 8,
  network = o.network {
    topology = "custom", switches = switches, cables = cables, attachments = attachments,
    failures = { o.failure { name = "leaf 1", link = 0, capacity = 1 } },
  },
}
