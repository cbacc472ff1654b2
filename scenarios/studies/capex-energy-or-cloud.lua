-- Own or rent? 64 nodes of H100 for a year at 80 % utilization: what a GPU-hour and a million tokens cost with depreciation, network, building,
-- maintenance and energy at a tariff by hour, against a cloud, and from which utilization owning is cheaper. Energy is a small part of the cost
-- of a token; where megawatts are short, tokens per second and MW count.
--
-- tokens_per_s is what the cluster trains at utilization 1: podwright run of a training job says it (tokens_per_s in --csv).
-- Try --set job.demand.utilization=0.4, --set "job.economics.cloud=H100-SXM5 on-demand hyperscaler", --set
-- job.economics.server_years=3, --set job.economics.currency=CNY.
local o, u = require "podwright", require "podwright.units"

return o.scenario "own hardware or a cloud" {
  cluster = o.cluster { node = o.node { server = "DGX H100" }, nodes = 64 },
  job = o.facility {
    demand = o.demand { utilization = 0.8 },
    sites = {
      o.site "hall" {
        weather = "warm-temperate",
        plant   = o.plant { type = "chilled water" },
        chain   = { "busway", "ups-double-conversion", "transformer-dry" },
        price   = "electricity China general industrial",
        tariff  = "cn-peak-valley",
        grid    = "grid carbon China",
        water_price = 0.8,
      },
    },
    economics    = o.economics { cloud = "H100-SXM5 on-demand specialty cloud" },
    tokens_per_s = 1.6e6,
  },
}
