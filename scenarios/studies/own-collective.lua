-- An algorithm of one's own: an all_gather that passes blocks both ways round a ring, so that half of the rounds do.
-- podwright collective all_gather scenarios/studies/own-collective.lua --algorithm both-ways
local o = require "podwright"

local ranks = 8
local steps = {}
for round = 0, ranks // 2 - 1 do
  for rank = 0, ranks - 1 do
    -- Onwards goes what came from behind, backwards what came from ahead; the last round has one block left.
    table.insert(steps, o.step { round = round, from = rank, to = (rank + 1) % ranks, block = (rank - round) % ranks })
    if round < ranks // 2 - 1 then
      table.insert(steps, o.step { round = round, from = rank, to = (rank - 1) % ranks, block = (rank + round) % ranks })
    end
  end
end

return o.scenario {
  cluster = o.cluster "pod" { node = o.node { server = "DGX H100" }, nodes = 1 },
  algorithms = { o.algorithm "both-ways" { kind = "all_gather", ranks = ranks, steps = steps } },
}
