-- Where does the same cluster cool best, and what is warm water worth there? 100 nodes of H100 through a year of three climates, by air on chilled
-- water with an economiser, and with cold plates on warm water. An economiser saves most where it is cool and dry; warm water makes
-- the climate matter less. Watch TUE too: cold plates also take work from the nodes' own fans, which PUE counts as IT.
--
-- Try --set job.sites[1].plant.economiser=false, --set job.sites[3].weather=hot-dry, --set job.demand.utilization=0.3.
local o, u = require "podwright", require "podwright.units"

local chain = { "busway", "ups-double-conversion", "transformer-dry" }
local sites = {}
for _, climate in ipairs { "cool-marine", "continental", "hot-humid" } do
  sites[#sites + 1] = o.site(climate .. ", air") { weather = climate, plant = o.plant { type = "chilled water" }, chain = chain }
end
for _, climate in ipairs { "cool-marine", "continental", "hot-humid" } do
  sites[#sites + 1] = o.site(climate .. ", liquid") {
    weather = climate, plant = o.plant { type = "warm-water towers" }, chain = chain, capture = 0.8,
  }
end

return o.scenario "a year of PUE in three climates" {
  cluster = o.cluster { node = o.node { server = "DGX H100" }, nodes = 100 },
  job = o.facility {
    demand = o.demand { profile = "week", utilization = 0.9, night = 0.7 },
    sites  = sites,
  },
}
