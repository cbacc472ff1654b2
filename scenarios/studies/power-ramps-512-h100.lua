-- May 512 H100 hang on this grid? 64 DGX H100 that fine-tune together swing between 200 and 390 kW, and all of them change within a second.
--
-- The cycle of set-up, steps and evaluation is that of fine-tuning with LoRA in MLPerf Training (64 nodes: 170 to 393 kW measured); the shares of a
-- step are set so that its level is the measured one. The report sets ramps, range and swings against a utility specification, before and after smoothing, and says what smoothing costs.
-- Try --set meter.smoothing=gb300-psu, --set meter.smoothing=rack-battery, --set meter.grid=strict, --set meter.smoothing.floor="0 W".
local o, u = require "podwright", require "podwright.units"

local step = o.load_phase "fine-tuning" { lasts = 80 * u.s, tensor = 0.18, memory = 0.2, link = 0.2, busy = 0.9, compute = 0.4 }

return o.scenario "power ramps of 512 H100" {
  cluster = o.cluster "pod" { node = o.node { server = "DGX H100" }, nodes = 64 },
  job = o.load_trace "fine-tuning together" {
    lasts = 6 * u.min,
    loads = { o.load "llama2 70b LoRA" { start = 30 * u.s, phases = {
      o.load_phase "data-loading" { lasts = 20 * u.s },
      step,
      o.load_phase "evaluation" { lasts = 12 * u.s, tensor = 0.08, memory = 0.1, busy = 0.5, compute = 0.2 },
      step,
      o.load_phase "checkpoint" { lasts = 8 * u.s },
    } } },
  },
  meter = o.meter {
    skip = 60 * u.s, -- a start from idle is another question
    grid = o.grid_limits "moderate" {},
    smoothing = o.smoothing "gpu-ramps" { ramp_up = 70 * u.W, ramp_down = 70 * u.W, floor = 550 * u.W, floor_hold = 30 * u.s },
  },
  alarms = {
    o.alarm "a breaker's share" { metric = "power_W", of = "rack", above = 24e3, for_at_least = 10 * u.s },
    o.alarm "warm dies" { metric = "temperature_C", above = 70 },
  },
}
