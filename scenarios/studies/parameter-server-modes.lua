-- A model of 500 MB on up to 2,000 machines with 10 Gb/s each: parameter servers in four modes, and an all-reduce.
--
-- A step computes 0.4 s, with some spread. Try --set job.mode=asynchronous, bounded (with --set job.staleness_bound=3), backup (with
-- --set job.backup_workers=5) or all_reduce (with --set job.server_nodes=0), and --set job.workers=20 to 2000.
-- 100 servers on machines of their own: above 100 workers their ports are what all wait for.
local o, u = require "podwright", require "podwright.units"

return o.scenario "parameter servers on 2,000 machines" {
  cluster = o.cluster "machines" {
    node    = o.node { gpu = "v100", gpus = 1, nics = 1, nic_rate = 10 * u.Gbps },
    nodes   = 2100,
    network = o.network { topology = "single_switch" },
  },
  job = o.parameter_server "replicas" {
    mode         = "synchronous",
    workers      = 200,
    servers      = 100,
    server_nodes = 100,
    weights      = 500 * u.MB,
    batch        = 64,
    compute      = 0.4 * u.s,
    spread       = 0.1,
    steps        = 20,
  },
}
