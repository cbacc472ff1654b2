-- What does liquid save, and why does PUE hide it? A hall of 1.2 MW of IT in the continental climate: all air on cold chilled water (7 C
-- water, 25 C air), then with 61 % and 75 % of the heat on liquid and warmer air, as in the published study of a hall of that size
-- (Vertiv and NVIDIA: total power -10 %, PUE 1.38 to 1.34, TUE -15.5 %). Cold plates cut the power of the nodes' fans, which PUE counts as IT: the
-- numerator and the denominator fall together. TUE counts fans as overhead.
--
-- Try --set job.demand.fan_share=0.15 and --set job.sites[3].weather=hot-humid.
local o, u = require "podwright", require "podwright.units"

local chain = { "pdu-transformer", "ups-double-conversion", "transformer-dry" }

return o.scenario "air or liquid" {
  cluster = o.cluster { node = o.node { server = "DGX H100" }, nodes = 120 },
  job = o.facility {
    demand = o.demand { utilization = 0.8, idle = 0.4 * u.MW, peak = 1.2 * u.MW, fan_share = 0.1, supply_loss_share = 0.05 },
    sites = {
      o.site "all air" {
        weather = "continental", chain = chain,
        plant = o.plant { type = "air-cooled chillers", air_supply = 25 * u.degC },
      },
      o.site "61 % liquid" {
        weather = "continental", chain = chain, capture = 0.614,
        plant = o.plant { type = "hybrid hall" },
      },
      o.site "75 % liquid" {
        weather = "continental", chain = chain, capture = 0.75,
        plant = o.plant { type = "hybrid hall" },
      },
    },
  },
}
