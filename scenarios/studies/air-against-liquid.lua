-- The same job on air and on cold plates: temperatures, leakage, fans, and how hot a day may get.
--
-- Try --set cluster.cooling.kind=cold_plate, a hot room (--set cluster.cooling.inlet=45degC), exhaust that comes back
-- (--set cluster.cooling.recirculation=0.3), or fans that fail (--set cluster.cooling.fan_speed=0.15): dies behind others in the air
-- reach their limit first, and all others wait for them.
local o, u = require "podwright", require "podwright.units"

return o.scenario "Llama 2 13B on 16 H100, cooled by air or liquid" {
  cluster = o.cluster "2 nodes" {
    node    = o.node { server = "DGX H100" },
    nodes   = 2,
    network = o.network { topology = "rail_optimized", port_rate = 400 * u.Gbps },
    power   = o.power {},
    cooling = o.cooling { kind = "air", inlet = 25 * u.degC },
  },
  job = o.train "pre-training" {
    model        = o.model "llama2-13b",
    sequence     = 4096,
    global_batch = 64,
    micro_batch  = 1,
    precision    = "bf16",
    sharding     = "zero3",
  },
}
