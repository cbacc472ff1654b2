-- What does an exascale machine on warm water draw beside its nodes? A year in the climate of eastern Tennessee: PUE 1.03, of which tower
-- fans are most of what the central plant draws. Power of the IT as published, 8 to 30 MW (Sun et al. 2024, Scientific Data 11:1077).
--
-- Try --set job.demand.utilization=1, --set job.sites[1].weather=hot-humid, --set job.sites[1].plant.liquid_supply=25degC, and
-- --series-csv hours.csv for the year hour by hour.
local o, u = require "podwright", require "podwright.units"

return o.scenario "a year of an exascale machine" {
  cluster = o.cluster {
    node    = o.node { server = "frontier" },
    nodes   = 9408,
    network = o.network { topology = "dragonfly", nodes_per_switch = 4, group_switches = 32, global_links = 8 },
  },
  job = o.facility {
    demand = o.demand { utilization = 0.6, idle = 8 * u.MW, peak = 28 * u.MW },
    sites = {
      o.site "ridge" {
        weather = "warm-temperate",
        plant   = o.plant { type = "Frontier-like" },
        capture = 1,
        chain   = { "transformer-oil" },
        price   = "electricity ORNL",
        grid    = "grid carbon implied by Llama 3.1 cards",
      },
    },
  },
}
